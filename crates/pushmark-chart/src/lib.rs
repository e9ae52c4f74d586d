//! Figures as SVG, numbers and their notation, tables, and text for terminals. What a figure is about is the
//! business of others: this crate knows values, scales, marks and colours.
//!
//! | module | purpose |
//! |---|---|
//! | `canvas`, `pattern`, `width` | a drawing of SVG elements, whose texts have known bounds |
//! | `file` | a drawing as a file of its own |
//! | `scale`, `marks`, `labels`, `avoid` | values to places; markers and bars; labels that do not overlap |
//! | `tokens` | every colour, marker and dash, for light and dark pages |
//! | `numbers`, `estimate`, `words` | numbers for pages and terminals; a median with its interval; counts in words |
//! | `durations` | lengths of time in words |
//! | `css` | texts as strings of CSS |
//! | `table` | a figure's data, as HTML and CSV |
//! | `terminal` | 80 columns, colours and glyphs |

#![forbid(unsafe_code)]

pub mod avoid;
pub mod canvas;
pub mod css;
pub mod durations;
pub mod estimate;
pub mod file;
pub mod labels;
pub mod marks;
pub mod numbers;
pub mod pattern;
pub mod scale;
pub mod table;
pub mod terminal;
pub mod tokens;
pub mod width;
pub mod words;
