//! `lot SEED`: draws ten findings and writes them into `studies/lot.toml`.

use std::path::Path;

use anyhow::Context as _;

fn main() -> anyhow::Result<()> {
    let seed = std::env::args().nth(1).context("say the seed of the draw")?;
    let seed = seed.parse().with_context(|| format!("{seed} is no seed: expected a number"))?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::write(root.join(studies::LOT), studies::draw_lot(&root, seed)?)?;
    Ok(())
}
