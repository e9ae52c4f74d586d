//! The pages are made from `studies/` and `record/`: a stale page fails. `PUSHMARK_BLESS=1`, which
//! `cargo xtask studies` sets, rewrites the pages.

use std::fs;
use std::path::Path;

use studies::{PAGES, draw};

#[test]
fn the_pages_of_the_studies_are_those_of_the_record() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let bless = std::env::var_os("PUSHMARK_BLESS").is_some();
    let drawn = draw(&root).unwrap_or_else(|error| panic!("{error:#}"));
    for number in 1..=5 {
        assert!(drawn.iter().any(|file| file.name == format!("{number}.md")), "study {number} has no page");
    }
    for file in drawn {
        let path = root.join(PAGES).join(&file.name);
        if bless {
            fs::create_dir_all(path.parent().expect("a file in a folder")).unwrap();
            fs::write(&path, &file.text).unwrap();
        }
        let found = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == file.text, "{PAGES}/{} is stale: cargo xtask studies rewrites it", file.name);
    }
}
