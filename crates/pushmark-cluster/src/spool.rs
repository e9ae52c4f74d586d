//! An agent's pieces of one arm, numbered, on its disk. The spool is the record of what it measured: whatever is
//! lost on the way is sent again from here.
//!
//! A spool is a list of frames with checksums (`checked.rs`): its head, then the pieces in order.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use pushmark_model::cluster::{Piece, SpoolHead};

use crate::card::is_name;
use crate::checked::{Frame, framed, next};
use crate::pieces::Pieces;
use crate::wire::PIECE_MAX;

/// Most bytes of a spool. Beyond, measuring on would lose what is measured.
const SPOOL_MAX: u64 = 2 << 30;

/// An open spool.
#[derive(Debug)]
pub struct Spool {
    file: File,
    path: PathBuf,
    arm: u32,
    /// Where each piece begins, and where the next one will.
    places: Vec<u64>,
    end: u64,
    /// Most bytes: `SPOOL_MAX`, less in tests.
    most: u64,
}

impl Spool {
    /// Creates the spool of an arm in `folder`.
    ///
    /// # Errors
    /// Fails if it exists, or the folder cannot be written.
    pub fn create(folder: &Path, head: &SpoolHead) -> io::Result<Spool> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}-{}-{}.spool", head.claim, head.arm, head.agent));
        let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let bytes = framed(head)?;
        file.write_all(&bytes)?;
        let end = bytes.len() as u64;
        Ok(Spool { file, path, arm: head.arm, places: Vec::new(), end, most: SPOOL_MAX })
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of its pieces.
    pub fn len(&self) -> u64 {
        self.places.len() as u64
    }

    /// Returns whether it has none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Appends a message. Returns its pieces, to be sent.
    ///
    /// # Errors
    /// Fails if it cannot be written, or the spool is full.
    pub fn append(&mut self, message: &[u8]) -> io::Result<Vec<Piece>> {
        if self.end + message.len() as u64 > self.most {
            let full = format!("{} is full: {} bytes", self.path.display(), self.end);
            return Err(io::Error::new(io::ErrorKind::StorageFull, full));
        }
        let parts: Vec<&[u8]> = match message {
            [] => vec![message],
            _ => message.chunks(PIECE_MAX).collect(),
        };
        let mut pieces = Vec::with_capacity(parts.len());
        for (at, part) in parts.iter().enumerate() {
            let last = at + 1 == parts.len();
            let piece = Piece { arm: self.arm, number: self.len(), last, bytes: part.to_vec() };
            let bytes = framed(&piece)?;
            self.file.seek(SeekFrom::Start(self.end))?;
            self.file.write_all(&bytes)?;
            self.places.push(self.end);
            self.end += bytes.len() as u64;
            pieces.push(piece);
        }
        Ok(pieces)
    }

    /// Returns the piece of this number, or `None` if the spool has no such piece.
    ///
    /// # Errors
    /// Fails if it cannot be read, or is damaged.
    pub fn piece(&mut self, number: u64) -> io::Result<Option<Piece>> {
        let place = usize::try_from(number).ok().and_then(|number| self.places.get(number));
        let Some(&place) = place else { return Ok(None) };
        self.file.seek(SeekFrom::Start(place))?;
        match next(&mut self.file)? {
            Frame::Whole(piece) => Ok(Some(piece)),
            Frame::End | Frame::Damaged => Err(invalid(damage(&self.path, place))),
        }
    }

    /// Brings everything to the disk.
    ///
    /// # Errors
    /// Fails if the system does.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Removes the file: every piece has arrived.
    ///
    /// # Errors
    /// Fails if the system does.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// A spool as it was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Whose it is.
    pub head: SpoolHead,
    /// Its messages, in order.
    pub messages: Vec<Vec<u8>>,
    /// The file and the place from which on it is not what was written; its messages are those before.
    pub damage: Option<String>,
}

/// Reads the head of a spool.
///
/// # Errors
/// Fails if it cannot be read. Its kind is [`io::ErrorKind::InvalidData`] if it is damaged, or no spool.
pub fn head(path: &Path) -> io::Result<SpoolHead> {
    head_of(path, &mut BufReader::new(File::open(path)?))
}

fn head_of(path: &Path, file: &mut BufReader<File>) -> io::Result<SpoolHead> {
    match next(file)? {
        Frame::Whole(head) => Ok(head),
        Frame::End | Frame::Damaged => Err(invalid(damage(path, 0) + ", or no spool")),
    }
}

/// Returns the claim and the arm of a spool whose head is damaged, by the name of its file. `agent`: whose it is.
pub fn named(file: &str, agent: &str) -> Option<(String, u32)> {
    let (claim, arm) =
        file.strip_suffix(".spool")?.strip_suffix(agent)?.strip_suffix('-')?.rsplit_once('-')?;
    is_name(claim).then_some((claim.to_owned(), arm.parse().ok()?))
}

/// Reads the spool of an agent that has ended. What it was writing when it ended is not in it.
///
/// # Errors
/// Fails as [`head`] does.
pub fn read(path: &Path) -> io::Result<Found> {
    let mut file = BufReader::new(File::open(path)?);
    let head = head_of(path, &mut file)?;
    let mut pieces = Pieces::default();
    let mut messages = Vec::new();
    let damage = loop {
        let place = file.stream_position()?;
        match next::<Piece>(&mut file) {
            Ok(Frame::Whole(piece)) => messages.extend(pieces.take(piece)),
            Ok(Frame::End) => break None,
            Ok(Frame::Damaged) => break Some(damage(path, place)),
            Err(error) => break Some(format!("{}: {error}", damage(path, place))),
        }
    };
    Ok(Found { head, messages, damage })
}

fn damage(path: &Path, place: u64) -> String {
    format!("{} is damaged at byte {place}", path.display())
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head() -> SpoolHead {
        SpoolHead { claim: "w".into(), arm: 2, agent: "a".into(), plan: None }
    }

    #[test]
    fn another_spool_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(folder.path(), &head()).unwrap();
        spool.append(b"one").unwrap();
        assert_eq!(Spool::create(folder.path(), &head()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let path = spool.path().to_owned();
        spool.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn a_full_spool_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(folder.path(), &head()).unwrap();
        spool.most = 110;
        spool.append(&[0; 40]).unwrap();
        let error = spool.append(&[0; 40]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(spool.len(), 1);
    }

    #[test]
    fn a_damaged_piece_is_told_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(folder.path(), &head()).unwrap();
        for message in [b"one", b"two"] {
            spool.append(message).unwrap();
        }
        let place = spool.places[1];
        let mut bytes = fs::read(spool.path()).unwrap();
        bytes[place as usize + 13] ^= 1;
        fs::write(spool.path(), bytes).unwrap();
        let told = format!("{} is damaged at byte {place}", spool.path().display());
        assert_eq!(spool.piece(0).unwrap().unwrap().bytes, b"one");
        assert_eq!(spool.piece(1).unwrap_err().to_string(), told);
        let found = read(spool.path()).unwrap();
        assert_eq!((found.messages, found.damage), (vec![b"one".to_vec()], Some(told)));
        fs::write(spool.path(), b"a text that is no spool").unwrap();
        assert_eq!(super::head(spool.path()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(named("1f-2a-7-a-b.spool", "a-b"), Some(("1f-2a".to_owned(), 7)));
        assert_eq!(named("1f-2a-7-a-b.spool", "c"), None);
    }

    proptest! {
        /// Pieces that are lost, doubled and swapped on the way, and sent again, are the messages in order.
        #[test]
        fn the_messages_arrive_in_order_once(
            sizes in prop::collection::vec(prop_oneof![0usize..300, Just(PIECE_MAX), Just(2 * PIECE_MAX + 7)], 1..12),
            way in prop::collection::vec((any::<prop::sample::Index>(), 0u8..4), 0..60),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut spool = Spool::create(folder.path(), &head()).unwrap();
            let message = |(n, size): (usize, &usize)| -> Vec<u8> { vec![n as u8; *size] };
            let messages: Vec<Vec<u8>> = sizes.iter().enumerate().map(message).collect();
            let mut sent = Vec::new();
            for message in &messages {
                sent.extend(spool.append(message).unwrap());
            }
            let mut pieces = Pieces::default();
            let mut came = Vec::new();
            for (index, what) in way {
                let at = index.index(sent.len());
                match what {
                    0 => { came.extend(pieces.take(sent[at].clone())); }
                    1 => { sent.swap(at, 0); }
                    _ => { came.extend(pieces.take(sent.remove(at))); if sent.is_empty() { break; } }
                }
            }
            // What is missing is asked for, until nothing is.
            while pieces.next() < spool.len() {
                let to = pieces.missing_to().unwrap_or(spool.len());
                for number in pieces.next()..to {
                    came.extend(pieces.take(spool.piece(number).unwrap().unwrap()));
                }
            }
            prop_assert_eq!(&came, &messages);
            // A copy of the file tells the same, and one that was cut tells the messages before the cut.
            let found = read(spool.path()).unwrap();
            prop_assert_eq!((&found.messages, &found.damage), (&messages, &None));
            let bytes = fs::read(spool.path()).unwrap();
            let copy = folder.path().join("copy");
            fs::write(&copy, &bytes[..bytes.len() - 1]).unwrap();
            prop_assert_eq!(&read(&copy).unwrap().messages[..], &messages[..messages.len() - 1]);
            prop_assert_eq!(spool.piece(spool.len()).unwrap(), None);
        }
    }
}
