//! `pushmark schema`: the JSON Schema of scenario files, for editors.

use crate::exit::Exit;

/// Prints the schema.
pub fn run() -> anyhow::Result<Exit> {
    crate::output::print(&format!("{:#}\n", pushmark_model::scenario::schema()))?;
    Ok(Exit::Pass)
}
