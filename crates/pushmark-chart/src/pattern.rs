//! Hatches and dots, which mark special areas without colour.

/// The meaning of a hatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Superseded: not a loss.
    Superseded,
    /// CPU in soft interrupts.
    Softirq,
    /// Below this edge the generator would measure itself.
    ReadLag,
    /// A percentile without support.
    Unsupported,
    /// Due, never sent.
    Unpublished,
    /// Inside an uncertainty window.
    Excused,
    /// Invalid.
    Invalid,
    /// Stopped early.
    Incomplete,
}

impl Pattern {
    pub(crate) const ALL: [Pattern; 8] = [
        Pattern::Superseded,
        Pattern::Softirq,
        Pattern::ReadLag,
        Pattern::Unsupported,
        Pattern::Unpublished,
        Pattern::Excused,
        Pattern::Invalid,
        Pattern::Incomplete,
    ];

    pub(crate) fn bit(self) -> u8 {
        1 << self as u8
    }

    pub(crate) fn name(self) -> &'static str {
        ["su", "so", "rl", "un", "up", "ex", "iv", "ic"][self as usize]
    }

    pub(crate) fn definition(self, id: &str) -> String {
        let (size, turn, inside) = match self {
            Pattern::Superseded => (5.0, 45, bar("delivered", 5.0, 2.0, "bg")),
            Pattern::Softirq => (4.0, 45, bar("generator", 4.0, 1.3, "softirq")),
            Pattern::ReadLag => (5.0, 45, bar("axis", 5.0, 0.8, "bg")),
            Pattern::Unsupported => (6.0, 0, dot("axis", 0.8)),
            Pattern::Unpublished => (3.0, 0, dot("ink2", 0.9)),
            Pattern::Excused => (6.0, 0, dot("axis", 1.0)),
            Pattern::Invalid => (6.0, 45, bar("invalid", 6.0, 1.3, "bg")),
            Pattern::Incomplete => (6.0, 0, bar("incomplete", 6.0, 1.5, "incomplete-tint")),
        };
        let turned = if turn == 0 { String::new() } else { format!(r#" patternTransform="rotate({turn})""#) };
        let name = self.name();
        format!(
            r#"<pattern id="{id}-{name}" width="{size}" height="{size}" patternUnits="userSpaceOnUse"{turned}>{inside}</pattern>"#
        )
    }
}

fn bar(ink: &str, size: f64, width: f64, ground: &str) -> String {
    format!(
        r#"<rect width="{size}" height="{size}" fill="var(--{ground})"/><rect width="{width}" height="{size}" fill="var(--{ink})"/>"#
    )
}

fn dot(ink: &str, radius: f64) -> String {
    format!(r#"<circle cx="1.5" cy="1.5" r="{radius}" fill="var(--{ink})"/>"#)
}
