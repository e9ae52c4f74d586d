//! Who may use whom, read from the manifests.

use super::tree::{Offence, Tree};

const MODEL: &str = "pushmark-model";
const PROTO: &str = "pushmark-proto";
const NET: &str = "pushmark-net";
const LOAD: &str = "pushmark-load";
const BUILTIN: &str = "pushmark-builtin";
const CHART: &str = "pushmark-chart";
const REPORT: &str = "pushmark-report";
const STORE: &str = "pushmark-store";
const CONSOLE: &str = "pushmark-console";
const HOST: &str = "pushmark-host";
const PROBES: &str = "pushmark-probes";
const CHECK: &str = "pushmark-check";
const CLUSTER: &str = "pushmark-cluster";
const RUN: &str = "pushmark-run";
const TRUTH: &str = "pushmark-truth";
const DEMO: &str = "pushmark-demo";

/// Each crate of `crates/` with the workspace crates that it may use. `report`, `check` and `run` know nothing
/// of each other; the tool knows all.
const ALLOWED: [(&str, &[&str]); 17] = [
    (MODEL, &[]),
    (PROTO, &[]),
    (NET, &[MODEL, PROTO]),
    (LOAD, &[MODEL, PROTO, NET]),
    (BUILTIN, &[MODEL, PROTO, NET]),
    (CHART, &[MODEL]),
    (REPORT, &[MODEL, CHART]),
    (STORE, &[MODEL]),
    (CONSOLE, &[MODEL, CHART, STORE]),
    (HOST, &[MODEL, PROTO, NET, CHART, STORE, CONSOLE]),
    (PROBES, &[MODEL, PROTO, NET, CONSOLE, HOST]),
    (CHECK, &[MODEL, PROTO, NET, CONSOLE, HOST]),
    (CLUSTER, &[MODEL, NET]),
    (RUN, &[MODEL, NET, LOAD, CHART, STORE, CONSOLE, HOST, PROBES, CLUSTER]),
    (TRUTH, &[MODEL, NET, REPORT, STORE, CONSOLE, HOST, RUN]),
    (DEMO, &[MODEL, PROTO, NET, BUILTIN, CHART]),
    (
        "pushmark",
        &[MODEL, PROTO, NET, BUILTIN, CHART, REPORT, STORE, CONSOLE, HOST, CHECK, CLUSTER, RUN, TRUTH, DEMO],
    ),
];

/// Crates beside the product: what measures, judges or draws with it is not shipped with it.
const BESIDE: [&str; 4] = ["bench", "conformance", "studies", "xtask"];

/// Dependencies of the product; tests may use others.
pub(super) fn direction(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (path, text) in tree.texts() {
        let Some(name) = path.strip_prefix("crates/").and_then(|path| path.strip_suffix("/Cargo.toml"))
        else {
            continue;
        };
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            offences.push(Offence::new(path, 0, "a crate whose place is not said in xtask's imports.rs"));
            continue;
        };
        let table: toml::Table = match text.parse() {
            Ok(table) => table,
            Err(error) => {
                offences.push(Offence::new(path, 0, error.to_string()));
                continue;
            }
        };
        for section in ["dependencies", "build-dependencies"] {
            let used = table.get(section).and_then(toml::Value::as_table).into_iter().flatten();
            let used = used.map(|(used, _)| used);
            let ours = used.filter(|used| used.starts_with("pushmark") || BESIDE.contains(&&used[..]));
            for used in ours.filter(|used| !allowed.contains(&&used[..])) {
                offences.push(Offence::new(path, 0, format!("{name} may not use {used}")));
            }
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offences(name: &str, manifest: &str) -> Vec<String> {
        let path = format!("crates/{name}/Cargo.toml");
        direction(&Tree::of(&[(&path, manifest)])).into_iter().map(|offence| offence.what).collect()
    }

    #[test]
    fn an_import_against_the_direction_offends() {
        let uses_load = "[dependencies]\npushmark-load.workspace = true\n";
        assert_eq!(offences("pushmark-builtin", uses_load), ["pushmark-builtin may not use pushmark-load"]);
        assert!(offences("pushmark-run", uses_load).is_empty());
        let uses_model = "[dependencies]\npushmark-model.workspace = true\n";
        assert_eq!(offences("pushmark-proto", uses_model), ["pushmark-proto may not use pushmark-model"]);
        assert!(offences("pushmark-net", uses_model).is_empty());
        let uses_studies = "[dependencies]\nstudies.workspace = true\n";
        assert_eq!(offences("pushmark", uses_studies), ["pushmark may not use studies"]);
    }

    #[test]
    fn tests_may_use_what_the_product_may_not() {
        assert!(
            offences("pushmark-model", "[dev-dependencies]\npushmark-load.workspace = true\n").is_empty()
        );
    }

    #[test]
    fn a_new_crate_must_be_given_its_place() {
        assert_eq!(offences("pushmark-new", "").len(), 0, "an empty file has no text");
        assert_eq!(offences("pushmark-new", "[package]\n").len(), 1);
    }
}
