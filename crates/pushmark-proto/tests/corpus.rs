//! Runs every fuzz corpus through the functions of the fuzz targets, as a regression test.

use std::fs;
use std::path::Path;

use pushmark_proto::fuzzing::ENTRIES;

#[test]
fn every_corpus_is_heard_the_same_whole_and_in_pieces() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (target, run) in ENTRIES {
        let inputs: Vec<_> = fs::read_dir(corpora.join(target))
            .unwrap_or_else(|error| panic!("corpus of {target}: {error}"))
            .map(|entry| entry.expect("the folder can be read").path())
            .collect();
        assert!(!inputs.is_empty(), "{target} has no seeds");
        for path in inputs {
            // A failure inside `run` does not print the name.
            println!("{}", path.display());
            run(&fs::read(&path).expect("a seed can be read"));
        }
    }
}
