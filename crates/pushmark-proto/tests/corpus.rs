//! Every fuzz corpus through the functions that the fuzz targets call: a crash found once stays found.

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
            // The name is all a failure inside `run` does not say.
            println!("{}", path.display());
            run(&fs::read(&path).expect("a seed can be read"));
        }
    }
}
