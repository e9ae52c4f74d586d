#![no_main]

use libfuzzer_sys::fuzz_target;
use pushmark_model::stamp::Scanner;

fuzz_target!(|bytes: &[u8]| {
    let heard = |piece_len: usize| {
        let (mut scanner, mut heard) = (Scanner::default(), Vec::new());
        bytes.chunks(piece_len).for_each(|piece| scanner.scan(piece, |stamp| heard.push(stamp)));
        (heard, scanner.pending())
    };
    let whole = heard(bytes.len().max(1));
    [1, 3, 47].iter().for_each(|&piece_len| assert_eq!(whole, heard(piece_len)));
});
