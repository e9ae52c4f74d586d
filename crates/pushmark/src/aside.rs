//! A file without a name, for what a long run need not hold in memory.

use std::fs::File;
use std::io::{self, BufReader, Seek as _, SeekFrom};

use std::marker::PhantomData;

use pushmark_model::frame;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What was set aside, in order. The file is made with the first of it and ends with us.
#[derive(Debug)]
pub(crate) struct Aside<T> {
    file: Option<File>,
    holds: PhantomData<T>,
}

impl<T> Default for Aside<T> {
    fn default() -> Aside<T> {
        Aside { file: None, holds: PhantomData }
    }
}

impl<T: Serialize + DeserializeOwned> Aside<T> {
    /// Sets something aside.
    ///
    /// # Errors
    /// The file's own; it then holds what it held before.
    pub(crate) fn put(&mut self, what: &T) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        let before = file.stream_position()?;
        frame::write(file, what).inspect_err(|_| {
            // What cannot be cut off is a torn frame, where reading ends.
            let _ = file.set_len(before);
            let _ = file.seek(SeekFrom::Start(before));
        })
    }

    /// Everything that was set aside, and gives the file up.
    ///
    /// # Errors
    /// The file's own. What was read until then has been given.
    pub(crate) fn take(&mut self, mut each: impl FnMut(T)) -> io::Result<()> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.seek(SeekFrom::Start(0))?;
        let mut file = BufReader::new(file);
        while let Some(what) = frame::read(&mut file)? {
            each(what);
        }
        Ok(())
    }
}
