//! What pages outside this crate are made of: the cells of a suite with their fates, the values of metrics in
//! them, sentences about a whole suite, and its figures as files. The rest of a suite's page is private.

use pushmark_model::suite::Figure;

use super::drawn::Entry;

pub use super::super::case::ArmView;
pub use super::cells::{Cell, Fate, View, fate_of, reason_of, stands};
pub use super::drawn::{scale, verdicts};
pub use super::quantity::Quantity;
pub use super::says::knee::ALIKE;
pub use super::says::limit::of_suite as limit;

/// A figure as a file, with the text around it.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What the suite asked for.
    pub figure: Figure,
    /// The sentences that rules find in its data.
    pub says: String,
    /// How it was measured.
    pub caption: String,
    /// The drawing.
    pub svg: String,
}

/// Draws the figures of a suite in the order of its page. Tables, and figures without data, are left out.
pub fn pictures(view: &View<'_>) -> Vec<Picture> {
    let picture = |entry: Entry| {
        let svg = entry.svg(view)?;
        let Entry { figure, drawn: Ok(drawn) } = entry else { return None };
        Some(Picture { figure, says: drawn.says.join(" "), caption: drawn.caption, svg })
    };
    super::entries(view).into_iter().filter_map(picture).collect()
}
