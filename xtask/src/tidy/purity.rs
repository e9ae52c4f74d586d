//! What single crates keep away from: sockets, files, clocks, serializers.

use super::code::{code_only, lines_with};
use super::tree::{Offence, Tree};

/// Modules of `std` that a pure crate must not use, and their replacements.
const OUTSIDE: [(&str, &str); 4] = [
    ("fs", "texts come in as arguments"),
    ("env", "what is wanted comes in as arguments"),
    ("process", "an error is returned"),
    ("thread", "the caller has the threads"),
];

/// Words that reach outside wherever they come from. Of `std::net` the addresses are plain data.
const WORDS: [(&str, &str); 10] = [
    ("TcpStream", "bytes come in as arguments"),
    ("TcpListener", "bytes come in as arguments"),
    ("UdpSocket", "bytes come in as arguments"),
    ("ToSocketAddrs", "addresses come in resolved"),
    ("Instant", "instants come in as arguments"),
    ("SystemTime", "times come in as arguments"),
    ("println!", "events and errors are returned"),
    ("eprintln!", "events and errors are returned"),
    ("print!", "events and errors are returned"),
    ("eprint!", "events and errors are returned"),
];

/// Crates that touch nothing outside.
const PURE: [&str; 4] = ["pushmark-model", "pushmark-proto", "pushmark-chart", "pushmark-report"];

/// Pure crates: no I/O, no clock, no log.
pub(super) fn no_io(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for name in PURE {
        for (path, text) in tree.product(&format!("crates/{name}/src/")) {
            let code = code_only(text);
            for (module, instead) in OUTSIDE {
                let whole = format!("std::{module}");
                let what = format!("std::{module}: {instead}");
                offences.extend(lines_with(&code, &whole).map(|line| Offence::new(path, line, &what[..])));
                offences.extend(grouped(&code, module).map(|line| Offence::new(path, line, &what[..])));
            }
            for (word, instead) in WORDS {
                let what = format!("{word}: {instead}");
                offences.extend(lines_with(&code, word).map(|line| Offence::new(path, line, &what[..])));
            }
        }
    }
    offences
}

/// Lines of `use std::{…}` that bring a module in among others.
fn grouped<'c>(code: &'c str, module: &'c str) -> impl Iterator<Item = usize> + 'c {
    code.match_indices("use std::{").filter_map(move |(at, _)| {
        let group = &code[at..at + code[at..].find(';')?];
        let mut members = group.split(['{', ',', '}']).map(str::trim);
        let brought = members.any(|member| member == module || member.starts_with(&format!("{module}::")));
        brought.then(|| code[..at].matches('\n').count() + 1)
    })
}

/// Crates that know no serializer, in code and manifest.
const NO_SERDE: [&str; 3] = ["pushmark-proto", "pushmark-net", "pushmark-load"];

/// Types outside the model that are written: what a run sets aside in a file without a name, which never
/// leaves the process.
const SET_ASIDE: [&str; 3] = [
    "crates/pushmark-host/src/monitor/process.rs",
    "crates/pushmark-host/src/monitor/snapshot.rs",
    "crates/pushmark-run/src/gather/emits.rs",
];

/// Only types of the model are serialized.
pub(super) fn no_serde(tree: &Tree) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (path, text) in tree.product("crates/") {
        if path.starts_with("crates/pushmark-model/") || SET_ASIDE.contains(&path) {
            continue;
        }
        let below = NO_SERDE.iter().any(|name| path.starts_with(&format!("crates/{name}/")));
        let words: &[&str] = if below { &["Serialize", "Deserialize", "serde"] } else { &["Serialize"] };
        let code = code_only(text);
        let derives = |line: usize| code.lines().nth(line - 1).is_some_and(|line| line.contains("derive("));
        for word in words {
            let what = format!("{word}: the type belongs into pushmark-model");
            // A bound (`T: Serialize`) names no type.
            let found = lines_with(&code, word).filter(|line| below || derives(*line));
            offences.extend(found.map(|line| Offence::new(path, line, &what[..])));
        }
    }
    for name in NO_SERDE {
        let path = format!("crates/{name}/Cargo.toml");
        let manifest = tree.text(&path).and_then(|text| text.parse::<toml::Table>().ok()).unwrap_or_default();
        if manifest.get("dependencies").is_some_and(|used| used.get("serde").is_some()) {
            offences.push(Offence::new(&path, 0, "serde: the types belong into pushmark-model"));
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(check: fn(&Tree) -> Vec<Offence>, path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|offence| offence.line).collect()
    }

    #[test]
    fn a_socket_a_file_a_clock_or_a_log_in_proto_offends() {
        let proto = |text| lines(no_io, "crates/pushmark-proto/src/a.rs", text);
        assert_eq!(proto("//! a\nuse std::net::TcpStream;\n"), [2]);
        assert_eq!(proto("use std::{fmt,\n fs};\n"), [1]);
        assert_eq!(proto("use std::{fmt, process::exit};\n"), [1]);
        assert_eq!(proto("fn a() { let now = Instant::now(); }\n"), [1]);
        assert_eq!(proto("fn a() {\n    println!(\"a\");\n}\n"), [2]);
        assert_eq!(proto("fn a() { std::env::var(\"A\"); }\n"), [1]);
    }

    #[test]
    fn words_in_comments_and_strings_and_tests_do_not_offend() {
        let proto = |text| lines(no_io, "crates/pushmark-proto/src/a.rs", text);
        assert!(proto("//! No std::net here, no Instant.\nconst A: &str = \"std::fs\";\n").is_empty());
        assert!(proto("fn a() {}\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n").is_empty());
        assert!(lines(no_io, "crates/pushmark-proto/tests/a.rs", "use std::fs;\n").is_empty());
        assert!(lines(no_io, "crates/pushmark-net/src/a.rs", "use std::net::TcpStream;\n").is_empty());
        assert!(proto("use std::net::IpAddr;\n").is_empty(), "an address is data");
    }

    #[test]
    fn a_serializer_below_model_offends() {
        let derive = "#[derive(Serialize)]\nstruct A;\n";
        assert_eq!(lines(no_serde, "crates/pushmark-load/src/a.rs", derive), [1]);
        assert_eq!(lines(no_serde, "crates/pushmark-host/src/a.rs", derive), [1]);
        let read = "#[derive(Deserialize)]\nstruct A;\n";
        assert!(lines(no_serde, "crates/pushmark-store/src/a.rs", read).is_empty(), "a part of a file");
        assert!(lines(no_serde, "crates/pushmark-model/src/a.rs", derive).is_empty());
        let manifest = "[dependencies]\nserde.workspace = true\n";
        assert_eq!(lines(no_serde, "crates/pushmark-net/Cargo.toml", manifest), [0]);
    }
}
