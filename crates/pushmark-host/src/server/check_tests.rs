//! The messages for wrong rows.

use super::super::registry::Registry;

const CONTRACT: &str = "[contract]
health = \"http://h/\"
stats = \"http://h/\"
emitters = \"http://h/\"
log = \"http://h/\"
[contract.subscribe]
sse = \"http://h/\"
[contract.publish]
url = \"http://h/\"
";

/// The messages for a file whose one row has these lines in addition to the required ones.
fn told(more: &str, lines: &str) -> String {
    let row = "[[server]]\nname = \"a\"\ntransports = [\"sse\"]\ncontract = true\n";
    let run = if lines.contains("run =") { "" } else { "run = [\"x\", \"{port}\"]\n" };
    match Registry::parse(&format!("{CONTRACT}{more}{row}{run}{lines}"), "servers.toml", None) {
        Ok(_) => "nothing".to_owned(),
        Err(report) => {
            let one = |e: &pushmark_model::scenario::ScenarioError| {
                let advice = e.advice().unwrap_or_default();
                format!("{}: {e}: {}; {}", e.key, e.label(), advice.replace('\n', ", "))
            };
            report.errors.iter().map(one).collect::<Vec<_>>().join("\n")
        }
    }
}

const NEEDS: &str = "[need.jdk-17]\njdk = 17\n[need.maven]\nprogram = \"mvn\"\n";

#[test]
fn a_sound_row_is_told_nothing() {
    let jvm = "[jvm]\narguments = [\"-Xmx{heap}\", \"{log}/gc\"]\n";
    let lines = "folder = \"a\"\ngeneration = \"original\"\narchitecture = \"virtual threads\"\nfamily = \"f\"\n\
                 stands_for = \"A 1.0\"\nlacks = [\"5\", \"6.6\"]\nneeds = [\"jdk-17\", \"maven\"]\n\
                 inputs = [\"b\"]\nbuild = [\"mvn\"]\nbuilt = [\"c\"]\nflags = { heap = \"1g\" }\n\
                 run = [\"{jdk-17}/bin/java\", \"{jvm}\", \"{port}\", \"{\\\"json\\\": 1}\"]\n";
    assert_eq!(told(&format!("{jvm}{NEEDS}"), lines), "nothing");
}

#[test]
fn each_mistake_names_its_key_and_what_is_taken() {
    for (more, lines, expected) in [
        (
            NEEDS,
            "needs = [\"jdk-71\"]",
            "server[0].needs[0]: `jdk-71` is not defined: did you mean `jdk-17`?; accepted: jdk-17, maven",
        ),
        (
            "",
            "needs = [\"perl\"]",
            "server[0].needs[0]: `perl` is not defined: found \"perl\"; \
             accepted: a table [need.perl] with program, jdk, file or probe",
        ),
        (
            "",
            "lacks = [\"6.6\", \"streams\"]",
            "server[0].lacks[1]: this is not a clause of the contract: found \"streams\"; \
             accepted: a clause such as \"6.6\", or a section such as \"5\"",
        ),
        (
            "",
            "flags = { heap = \"1g\" }\nrun = [\"x\", \"-Xmx{heep}\"]",
            "server[0].run[1]: `a` has no variable {heep}: did you mean `heap`?; \
             accepted: {pushmark}, {port}, {log}, {heap}",
        ),
        (
            NEEDS,
            "run = [\"{jdk-17}/bin/java\"]",
            "server[0].run[0]: `a` has no variable {jdk-17}: found \"{jdk-17}/bin/java\"; \
             accepted: {pushmark}, {port}, {log}",
        ),
        (
            "[jvm]\narguments = [\"-Xss{stack}\"]\n",
            "run = [\"java\", \"{jvm}\"]",
            "server[0].run[1]: `a` has no variable {stack} (of [jvm]): found \"-Xss{stack}\"; \
             accepted: {pushmark}, {port}, {log}",
        ),
        (
            "",
            "run = [\"java\", \"-D{jvm}\"]",
            "server[0].run[1]: {jvm} stands for several arguments, so it must be one by itself: \
             found \"-D{jvm}\"; accepted: {pushmark}, {port}, {log}",
        ),
        (
            "",
            "build = [\"make\"]",
            "server[0].build: the build of `a` has no list of built files: found a build alone; \
             accepted: `folder`, and `built` with what must exist in it once built",
        ),
        (
            "[need.odd]\nprogram = \"a\"\nfile = \"b\"\n",
            "",
            "need.odd: `odd` needs exactly one way to find it: found 2 of them; accepted: exactly one of program, jdk, file, probe",
        ),
        (
            "",
            "flags = { heap = \"1g\" }\nspreads_by = \"workers\"",
            "server[0].spreads_by: `a` has no such flag: found \"workers\"; accepted: heap",
        ),
        (
            "",
            "flags = { port = \"1\" }",
            "server[0].flags.port: `{port}` is a variable of commands already: found `port`; accepted: another name",
        ),
    ] {
        assert_eq!(told(more, lines), expected);
    }
}

#[test]
fn words_of_a_closed_set_are_listed() {
    let told = |lines: &str| told("", lines);
    let generation = told("generation = \"orignal\"");
    assert!(generation.contains("original") && generation.contains("present"), "{generation}");
    let architecture = told("architecture = \"fibres\"");
    assert!(
        architecture.contains("event loop") && architecture.contains("virtual threads"),
        "{architecture}"
    );
    assert!(told("stands-for = \"A\"").contains("did you mean `stands_for`?"));
}
