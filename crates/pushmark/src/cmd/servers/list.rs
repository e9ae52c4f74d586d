//! `pushmark servers list`: lists the servers by family, those of the studies beside those in use today,
//! and what is missing to run each here.

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use pushmark_console::output::Format;
use pushmark_console::progress::screen::Screen;
use pushmark_host::server::build::lacking;
use pushmark_host::server::registry::{Need, Registry, Server};
use pushmark_host::server::state::{self, Built};
use pushmark_host::server::version::version;

/// A server and its state on this machine.
struct Listed<'r> {
    server: &'r Server,
    missing: Vec<(&'r str, &'r Need)>,
    built: Built,
    checked: bool,
    version: Option<String>,
}

/// Returns the list in the given format. With versions, each server that can run is asked for its version.
pub(super) fn list(registry: &Registry, format: Format, versions: bool) -> anyhow::Result<String> {
    let mut rows = Vec::new();
    for server in registry.servers() {
        let mut row = Listed {
            server,
            missing: registry.missing(server),
            // The build reports sources that cannot be read.
            built: state::built(registry, server).unwrap_or(Built::No),
            checked: state::checked(registry, server).is_some(),
            version: None,
        };
        if versions && row.is_ready() {
            row.version = version(registry, server);
        }
        rows.push(row);
    }
    Ok(match format {
        Format::Json => format!("{:#}\n", Value::from_iter(rows.iter().map(Listed::json))),
        Format::Text => text(&rows, &Screen::of_stdout()),
    })
}

impl Listed<'_> {
    fn is_ready(&self) -> bool {
        self.missing.is_empty() && self.built.is_ready()
    }

    /// Returns the state in words. Advice is printed on separate lines.
    fn state(&self) -> &'static str {
        match self.built {
            _ if !self.missing.is_empty() => "cannot run here",
            Built::No => "not built",
            Built::Changed => "changed since it was built",
            Built::Nothing | Built::Yes if self.checked => "ready, checked",
            Built::Nothing | Built::Yes => "ready, not checked",
        }
    }

    fn json(&self) -> Value {
        let server = self.server;
        let missing = self.missing.iter().map(|(name, need)| {
            json!({ "name": name, "what": need.what.as_deref().unwrap_or(name), "install": need.install })
        });
        json!({
            "name": server.name,
            "family": server.family(),
            "generation": server.generation,
            "stands_for": server.stands_for,
            "architecture": server.architecture,
            "transports": server.transports,
            "contract": server.contract,
            "lacks": server.lacks,
            "needs": server.needs,
            "flags": server.flags,
            "missing": Value::from_iter(missing),
            "built": match self.built {
                Built::Nothing => None,
                built => Some(built == Built::Yes),
            },
            "checked": self.checked,
            "ready": self.is_ready(),
            "state": self.state(),
            "version": self.version,
        })
    }
}

fn text(rows: &[Listed<'_>], screen: &Screen) -> String {
    let style = |colour: Option<AnsiColor>, style: Style| match screen.colours {
        true => style.fg_color(colour.map(Into::into)),
        false => Style::new(),
    };
    let (strong, faint) = (style(None, Style::new().bold()), style(None, Style::new().dimmed()));
    let wide = |of: fn(&Server) -> usize| rows.iter().map(|row| of(row.server)).max().unwrap_or(0);
    let name_wide = wide(|server| server.name.len());
    let architecture_wide = wide(|server| server.architecture.map_or(0, |a| a.name().len()));
    let glyph_wide = if screen.unicode { 1 } else { 2 };
    let mut text = String::new();
    for family in families(rows) {
        let first = family[0].server.family();
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("{faint}{first}{faint:#}\n"));
        for row in family {
            let server = row.server;
            let (glyph, colour) = match row.built {
                _ if !row.missing.is_empty() => ("✕", AnsiColor::Red),
                Built::Nothing | Built::Yes => ("✓", AnsiColor::Green),
                Built::No | Built::Changed => ("◐", AnsiColor::Yellow),
            };
            let colour = style(Some(colour), Style::new());
            let glyph = screen.words(glyph);
            let architecture = server.architecture.map_or("", |a| a.name());
            let margin = format!("{:1$}", "", glyph_wide + 1 + name_wide + 2);
            text.push_str(&format!(
                "{colour}{glyph:glyph_wide$}{colour:#} {strong}{:name_wide$}{strong:#}  {:8}  \
                 {architecture:architecture_wide$}  {colour}{}{colour:#}\n",
                server.name,
                server.generation.name(),
                row.state(),
            ));
            let mut line = |words: &str| {
                text.push_str(&format!("{margin}{faint}{}{faint:#}\n", screen.words(words)));
            };
            if !server.stands_for.is_empty() {
                line(&server.stands_for);
            }
            line(&server.transports.iter().map(|t| t.name()).collect::<Vec<_>>().join(", "));
            if let Some(version) = &row.version {
                line(version);
            }
            let mut todo: Vec<String> = row.missing.iter().map(|(name, need)| lacking(name, need)).collect();
            if todo.is_empty() && !row.built.is_ready() {
                todo.push(format!("pushmark servers build {}", server.name));
            }
            for words in todo {
                text.push_str(&format!("{margin}{}\n", screen.words(&words)));
            }
        }
    }
    let of = |count: fn(&Listed<'_>) -> bool| rows.iter().filter(|row| count(row)).count();
    text.push_str(&format!(
        "\n{} servers: {} ready, {} to be built, {} cannot run here\n",
        rows.len(),
        of(|row| row.is_ready()),
        of(|row| row.missing.is_empty() && !row.built.is_ready()),
        of(|row| !row.missing.is_empty()),
    ));
    text
}

/// Groups rows by family, in the order of the file. In a family the originals come first.
fn families<'l, 'r>(rows: &'l [Listed<'r>]) -> Vec<Vec<&'l Listed<'r>>> {
    let mut families: Vec<Vec<&Listed<'_>>> = Vec::new();
    for row in rows {
        match families.iter_mut().find(|family| family[0].server.family() == row.server.family()) {
            Some(family) => family.push(row),
            None => families.push(vec![row]),
        }
    }
    for family in &mut families {
        family.sort_by_key(|row| row.server.generation);
    }
    families
}
