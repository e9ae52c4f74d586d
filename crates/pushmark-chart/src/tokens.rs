//! Every colour, marker and dash of the report, defined once. They are fixed, so that records made
//! years apart look alike; tests recompute their contrast. No other file names a colour.

use pushmark_model::run::VerdictState;
use pushmark_model::transport::Transport;

/// A colour in both themes, used in drawings as `var(--name)`.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// CSS custom property without its dashes.
    pub name: &'static str,
    /// On a white page, and in every downloaded drawing.
    pub light: &'static str,
    /// On a dark page.
    pub dark: &'static str,
}

const fn token(name: &'static str, light: &'static str, dark: &'static str) -> Token {
    Token { name, light, dark }
}

/// All colours. Transports have five-character names at most to keep pages small.
pub const PALETTE: &[Token] = &[
    token("bg", "#ffffff", "#14171c"),
    token("surface", "#f4f5f7", "#1c2027"),
    token("ink", "#16191d", "#e8ebef"),
    token("ink2", "#4d5560", "#a9b2bd"),
    token("axis", "#7d8691", "#757f8b"),
    token("grid", "#e4e7eb", "#2a3038"),
    token("poll", "#927002", "#fae868"),
    token("lp", "#822503", "#f39f92"),
    token("bay", "#da007d", "#ed348a"),
    token("strm", "#07643d", "#05952f"),
    token("sse", "#00809b", "#85eefe"),
    token("ws", "#3032f5", "#93a9fa"),
    token("bayws", "#49226a", "#9060fd"),
    token("server", "#2c3642", "#dde3ea"),
    token("generator", "#848f9b", "#7f8a97"),
    token("softirq", "#dfe4e9", "#343c46"),
    token("delivered", "#c3ccd6", "#4b5663"),
    token("late", "#c98200", "#ffd56f"),
    token("suspect", "#9a6300", "#fdca62"),
    token("suspect-tint", "#fff3da", "#33270f"),
    token("invalid", "#a0102a", "#ee6f69"),
    token("invalid-tint", "#fdebea", "#3a1a1a"),
    token("incomplete", "#5a6270", "#a9b2bd"),
    token("incomplete-tint", "#eef0f2", "#252a31"),
    token("heat0", "#eef3f9", "#1b232d"),
    token("heat1", "#d5e1ee", "#20344a"),
    token("heat2", "#b6cbe1", "#264866"),
    token("heat3", "#93b2d3", "#2f5f87"),
    token("heat4", "#6e97c1", "#76a5cd"),
    token("heat5", "#3c6ea0", "#97bcdd"),
    token("heat6", "#21527f", "#b9d3ea"),
    token("heat7", "#0e3557", "#dcebf8"),
];

/// `var(--name)` of the heat steps, weak to strong.
pub const HEAT: [&str; 8] = [
    "var(--heat0)",
    "var(--heat1)",
    "var(--heat2)",
    "var(--heat3)",
    "var(--heat4)",
    "var(--heat5)",
    "var(--heat6)",
    "var(--heat7)",
];

/// The ground.
pub const BG: &str = "var(--bg)";
/// The ground of tables and boxes.
pub const SURFACE: &str = "var(--surface)";
/// Text.
pub const INK: &str = "var(--ink)";
/// Text of second rank.
pub const INK2: &str = "var(--ink2)";
/// Axes.
pub const AXIS: &str = "var(--axis)";
/// Grid lines.
pub const GRID: &str = "var(--grid)";
/// The server.
pub const SERVER: &str = "var(--server)";
/// The generator.
pub const GENERATOR: &str = "var(--generator)";
/// What was delivered.
pub const DELIVERED: &str = "var(--delivered)";
/// What came late.
pub const LATE: &str = "var(--late)";
/// What is invalid.
pub const INVALID: &str = "var(--invalid)";

/// The shape that identifies a transport without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// poll
    Square,
    /// long-poll
    Diamond,
    /// bayeux
    Plus,
    /// stream
    TriangleUp,
    /// sse
    Circle,
    /// websocket
    TriangleDown,
    /// bayeux-websocket
    Star,
}

/// The drawing of a transport: colour + marker + dash + name, never colour alone.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Its name on the command line and in files.
    pub name: &'static str,
    /// The colour, as a drawing names it.
    pub paint: &'static str,
    /// Its marker.
    pub shape: Shape,
    /// `stroke-dasharray` of its 2 px line; empty = solid.
    pub dash: &'static str,
}

const fn mark(name: &'static str, paint: &'static str, shape: Shape, dash: &'static str) -> Mark {
    Mark { name, paint, shape, dash }
}

/// All seven transports in the order of every table and figure. Transports that ask have warm hues and
/// short dashes; transports that push have cool hues and long dashes.
pub const MARKS: [Mark; 7] = [
    mark("poll", "var(--poll)", Shape::Square, "1.5 4"),
    mark("long-poll", "var(--lp)", Shape::Diamond, "7 4"),
    mark("bayeux", "var(--bay)", Shape::Plus, "7 4 1.5 4"),
    mark("stream", "var(--strm)", Shape::TriangleUp, "16 4"),
    mark("sse", "var(--sse)", Shape::Circle, ""),
    mark("websocket", "var(--ws)", Shape::TriangleDown, "16 4 1.5 4"),
    mark("bayeux-websocket", "var(--bayws)", Shape::Star, "16 4 1.5 4 1.5 4"),
];

/// Returns the mark of a transport.
pub fn mark_of(transport: Transport) -> Mark {
    let name = transport.name();
    *MARKS.iter().find(|m| m.name == name).expect("every transport has a mark")
}

/// Returns the glyph of a verdict. None of them has an emoji form.
pub fn glyph(state: VerdictState) -> &'static str {
    match state {
        VerdictState::Valid => "✓",
        VerdictState::Suspect => "▲",
        VerdictState::Incomplete => "◐",
        VerdictState::Invalid => "✕",
    }
}

/// Returns the custom properties of one theme.
pub fn properties(dark: bool) -> String {
    PALETTE.iter().map(|t| format!("--{}:{};", t.name, if dark { t.dark } else { t.light })).collect()
}

/// Writes the light colours into a drawing that is saved as a file.
pub fn with_light_colours(drawing: &str) -> String {
    let mut out = String::with_capacity(drawing.len());
    let mut rest = drawing;
    while let Some(at) = rest.find("var(--") {
        let (before, after) = rest.split_at(at);
        let end = after.find(')').expect("a var() is closed");
        let name = &after["var(--".len()..end];
        let token = PALETTE.iter().find(|t| t.name == name).expect("drawings name tokens only");
        out.push_str(before);
        out.push_str(token.light);
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transport_has_its_mark() {
        let order: Vec<_> = Transport::ALL.iter().map(|t| mark_of(*t).name).collect();
        let fixed: Vec<_> = MARKS.iter().map(|m| m.name).filter(|n| order.contains(n)).collect();
        assert_eq!(order, fixed, "the fixed order");
    }

    #[test]
    fn a_drawing_that_leaves_the_page_has_no_variables() {
        assert_eq!(with_light_colours("a var(--ink) b var(--bg)"), "a #16191d b #ffffff");
    }
}
