//! Digests that follow every change that matters and no other.

use super::*;

const ROWS: &str = "[contract]
health = \"http://h/\"
stats = \"http://h/\"
emitters = \"http://h/\"
log = \"http://h/\"
[contract.subscribe]
sse = \"http://h/\"
[contract.publish]
url = \"http://h/\"
[[server]]
name = \"one\"
folder = \"one\"
inputs = [\"shared\", \"pom.xml\"]
transports = [\"sse\"]
contract = true
build = [\"make\"]
built = [\"target/one.jar\"]
run = [\"x\"]
[[server]]
name = \"one-threads\"
folder = \"one\"
inputs = [\"shared\", \"pom.xml\"]
transports = [\"sse\"]
contract = true
build = [\"make\"]
built = [\"target/one.jar\"]
run = [\"x\", \"threads\"]
[[server]]
name = \"own\"
transports = [\"sse\"]
contract = true
run = [\"{pushmark}\"]
";

struct Tree {
    root: tempfile::TempDir,
}

impl Tree {
    fn new() -> Tree {
        let tree = Tree { root: tempfile::tempdir().unwrap() };
        for (path, text) in [
            ("servers.toml", ROWS),
            ("one/Main.java", "1"),
            ("one/README.md", "about"),
            ("shared/Clock.java", "1"),
            ("pom.xml", "1"),
        ] {
            tree.write(path, text);
        }
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn registry(&self) -> Registry {
        Registry::load(Some(self.root.path())).unwrap()
    }

    fn digest(&self, name: &str) -> String {
        let registry = self.registry();
        digest(&registry, registry.find(name).unwrap()).unwrap()
    }
}

#[test]
fn a_digest_follows_sources_inputs_and_row() {
    let tree = Tree::new();
    let mut seen = vec![tree.digest("one")];
    for (path, text) in [
        ("one/Main.java", "2"),
        ("one/sub/Other.java", "1"),
        ("shared/Clock.java", "2"),
        ("pom.xml", "2"),
        ("servers.toml", &ROWS.replace("run = [\"x\"]", "run = [\"y\"]")),
    ] {
        tree.write(path, text);
        let now = tree.digest("one");
        assert!(!seen.contains(&now), "{path}");
        seen.push(now);
    }
    let before = tree.digest("one");
    for path in ["one/README.md", "one/target/one.jar", "one/node_modules/a.js", "other/Main.java"] {
        tree.write(path, "new");
        assert_eq!(tree.digest("one"), before, "{path}");
    }
    assert_ne!(tree.digest("one"), tree.digest("one-threads"));
    assert_eq!(tree.digest("own"), tree.digest("own"));
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let tree = Tree::new();
    fs::remove_dir_all(tree.root.path().join("shared")).unwrap();
    let registry = tree.registry();
    let error = digest(&registry, registry.find("one").unwrap()).unwrap_err().to_string();
    assert!(error.starts_with("one: ") && error.ends_with("shared cannot be read"), "{error}");
}

#[test]
fn a_pass_holds_until_something_changes() {
    let tree = Tree::new();
    let registry = tree.registry();
    let server = registry.find("one").unwrap();
    assert_eq!(checked(&registry, server), None);
    record_check(&registry, server, false, "1 of 9 failed").unwrap();
    assert_eq!(checked(&registry, server), None);
    record_check(&registry, server, true, "9 of 9 passed").unwrap();
    assert_eq!(checked(&registry, server).unwrap().summary, "9 of 9 passed");
    assert_eq!(checked(&registry, registry.find("one-threads").unwrap()), None, "each row by itself");
    tree.write("one/Main.java", "2");
    assert_eq!(checked(&registry, server), None);
    record_check(&registry, server, true, "9 of 9 passed").unwrap();
    record_check(&registry, server, false, "1 of 9 failed").unwrap();
    assert_eq!(checked(&registry, server), None);
}

#[test]
fn rows_of_one_module_share_its_build() {
    let tree = Tree::new();
    let registry = tree.registry();
    let [one, threads] = ["one", "one-threads"].map(|name| registry.find(name).unwrap());
    assert_eq!(built(&registry, registry.find("own").unwrap()).unwrap(), Built::Nothing);
    assert_eq!(built(&registry, one).unwrap(), Built::No);
    tree.write("one/target/one.jar", "");
    assert_eq!(built(&registry, one).unwrap(), Built::No, "made by hand: of what is not known");
    let record = |server| {
        let digest = build_digest(&registry, server).unwrap();
        record_build(&registry, server, digest, "").unwrap();
    };
    record(threads);
    assert_eq!([one, threads].map(|server| built(&registry, server).unwrap()), [Built::Yes; 2]);
    tree.write("shared/Clock.java", "2");
    assert_eq!(built(&registry, one).unwrap(), Built::Changed);
    record(one);
    fs::remove_dir_all(tree.root.path().join("one/target")).unwrap();
    assert_eq!(built(&registry, threads).unwrap(), Built::No);
}
