//! `pushmark schema`: the JSON Schema of scenario files, for editors.

use pushmark_console::exit::Exit;

/// Prints the schema.
pub fn run() -> anyhow::Result<Exit> {
    pushmark_console::output::print(&format!("{:#}\n", pushmark_model::scenario::schema()))?;
    Ok(Exit::Pass)
}
