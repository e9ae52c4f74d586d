//! Draws the pages of five published studies from their suites, their questions and the kept runs. It is no
//! part of the tool: a user who measures a server needs none of it.

#![forbid(unsafe_code)]

mod again;
mod answers;
mod coverage;
mod expect;
mod front;
mod lot;
mod page;
mod printed;
mod questions;
mod repeated;
mod settings;
mod study;

use std::path::Path;

pub use lot::{LOT, draw as draw_lot};

/// The folder of the pages, from the root of the tree.
pub const PAGES: &str = "studies/pages";

/// A file of the pages.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// Its name within [`PAGES`]: `1.md`, `1/comet-195-memory.svg`.
    pub name: String,
    /// Markdown or SVG.
    pub text: String,
}

/// Draws every page of the tree, with its figures.
///
/// # Errors
/// Fails if a suite, its questions or its kept runs cannot be read, or if a run had a setting of which its page
/// says nothing.
pub fn draw(root: &Path) -> anyhow::Result<Vec<Drawn>> {
    let studies = study::read(root)?;
    let mut drawn = vec![front::draw(&studies, &lot::Lot::read(root)?)];
    for (number, suites) in &studies {
        page::draw(*number, suites, &mut drawn)?;
    }
    Ok(drawn)
}
