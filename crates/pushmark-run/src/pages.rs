//! How results are drawn. What measures knows no page: its caller says how a page is made.

use pushmark_model::run::RunFiles;
use pushmark_model::search::SearchFile;
use pushmark_model::suite::Suite;

/// The functions that draw results.
#[derive(Clone, Copy, Debug)]
pub struct Pages {
    /// The page of the starts of one case.
    pub runs: fn(&[RunFiles]) -> String,
    /// The page of a suite, from the runs there are.
    pub suite: fn(&Suite, &[RunFiles]) -> String,
    /// The page of a search.
    pub search: fn(&SearchFile) -> String,
    /// A line for the terminal on a probe of a search.
    pub probe: fn(&SearchFile, usize) -> String,
}
