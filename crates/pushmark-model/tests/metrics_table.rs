//! `METRICS.md` is generated from the table in the code. The test fails if the file is stale.

use std::path::Path;

#[test]
fn the_document_of_metrics_is_the_table_of_metrics() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../METRICS.md");
    let expected = format!(
        "# Metrics\n\nWhat `[thresholds]` can name. A metric that is absent fails its threshold. Of each distribution any other percentile can be named too: `delivery.p95`, `connect.tcp.p97.5`.\n\n{}",
        pushmark_model::metrics::markdown()
    );
    if std::env::var_os("PUSHMARK_BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "METRICS.md is stale: PUSHMARK_BLESS=1 cargo test -p pushmark-model rewrites it"
    );
}
