//! An unnamed file, for data that a long run does not have to hold in memory.

use std::fs::File;
use std::io::{self, BufReader, Seek as _, SeekFrom};
use std::marker::PhantomData;

use pushmark_model::frame;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Data set aside, in order. The first item creates the file; it disappears with the process.
#[derive(Debug)]
pub struct Aside<T> {
    file: Option<File>,
    holds: PhantomData<T>,
}

impl<T> Default for Aside<T> {
    fn default() -> Aside<T> {
        Aside { file: None, holds: PhantomData }
    }
}

impl<T: Serialize + DeserializeOwned> Aside<T> {
    /// Appends an item.
    ///
    /// # Errors
    /// Fails if the file cannot be written; it then keeps its previous content.
    pub fn put(&mut self, what: &T) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let before = file.stream_position()?;
        frame::write(file, what).inspect_err(|_| {
            // If the truncation fails, a torn frame remains, and reading ends there.
            let _ = file.set_len(before);
            let _ = file.seek(SeekFrom::Start(before));
        })
    }

    /// Reads all items and drops the file.
    ///
    /// # Errors
    /// Fails if the file cannot be read. Items read until then have been passed to `each`.
    pub fn take(&mut self, mut each: impl FnMut(T)) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.seek(SeekFrom::Start(0))?;
        let mut file = BufReader::new(file);
        while let Some(what) = frame::read(&mut file)? {
            each(what);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_aside_comes_back_in_its_order_and_once() {
        let mut aside = Aside::<Vec<u32>>::default();
        (0..3).for_each(|n| aside.put(&vec![n; n as usize]).unwrap());
        let mut back = Vec::new();
        aside.take(|what| back.push(what)).unwrap();
        assert_eq!(back, [vec![], vec![1], vec![2, 2]]);
        aside.take(|_| panic!("nothing is left")).unwrap();
    }

    #[test]
    fn a_disk_that_is_full_says_so_and_what_is_there_already_comes_back() {
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let mut aside = Aside { file: Some(full), holds: PhantomData };
        assert_eq!(aside.put(&7_u32).unwrap_err().kind(), io::ErrorKind::StorageFull);

        // Half a frame that could not be truncated.
        let mut aside = Aside::default();
        aside.put(&8_u32).unwrap();
        io::Write::write_all(aside.file.as_mut().unwrap(), &[200, 0, 0, 0, 1]).unwrap();
        let mut back = Vec::new();
        let ended = aside.take(|what: u32| back.push(what));
        assert_eq!((back, ended.is_err()), (vec![8], true));
    }
}
