//! What an agent or a monitor says: into its spool first, then on the bus.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::{Context as _, bail};
use pushmark_cluster::{Bus, Spool, wire};
use pushmark_model::cluster::{Piece, SpoolHead};
use serde::Serialize;

/// The voice of one arm. Clones speak to the same spool.
#[derive(Clone, Debug)]
pub(super) struct Voice {
    spool: Arc<Mutex<Spool>>,
    /// Why the spool holds not everything.
    broken: Arc<Mutex<Option<String>>>,
    bus: Arc<Bus>,
    subject: String,
}

impl Voice {
    /// Begins a spool in this folder.
    pub(super) fn new(folder: &Path, head: &SpoolHead, bus: &Arc<Bus>) -> anyhow::Result<Voice> {
        let spool = Spool::create(folder, head).with_context(|| format!("--spool {}", folder.display()))?;
        Ok(Voice {
            spool: Arc::new(Mutex::new(spool)),
            broken: Arc::default(),
            bus: Arc::clone(bus),
            subject: wire::said(&head.claim, &head.agent),
        })
    }

    /// Says a message. Returns whether it is kept.
    pub(super) fn say<T: Serialize>(&self, said: &T) -> bool {
        let pieces: Vec<Piece> = match locked(&self.spool).append(&wire::encode(said)) {
            Ok(pieces) => pieces,
            Err(error) => {
                self.breaks(&format!("its spool cannot be written: {error}"));
                return false;
            }
        };
        pieces.iter().for_each(|piece| self.send(piece));
        true
    }

    /// Says pieces again. Returns how many there are.
    ///
    /// # Errors
    /// Fails if not everything was kept.
    pub(super) fn again(&self, from: u64, to: u64) -> anyhow::Result<u64> {
        if let Some(why) = self.broken() {
            bail!("{why}");
        }
        let mut spool = locked(&self.spool);
        let len = spool.len();
        let mut pieces = Vec::new();
        for number in from..to.min(len) {
            pieces.extend(spool.piece(number)?);
        }
        drop(spool);
        pieces.iter().for_each(|piece| self.send(piece));
        Ok(len)
    }

    fn send(&self, piece: &Piece) {
        self.bus.publish(self.subject.clone(), wire::encode(piece));
    }

    /// Writes the spool to the disk.
    pub(super) fn sync(&self) {
        if let Err(error) = locked(&self.spool).sync() {
            self.breaks(&format!("its spool cannot be written: {error}"));
        }
    }

    /// What was measured is not whole, and why.
    pub(super) fn breaks(&self, why: &str) {
        locked(&self.broken).get_or_insert_with(|| why.to_owned());
    }

    /// Why what was measured is not whole.
    pub(super) fn broken(&self) -> Option<String> {
        locked(&self.broken).clone()
    }

    /// Removes the spool if this is the last of its voices.
    pub(super) fn forget(self) {
        if let Some(spool) = Arc::into_inner(self.spool) {
            let spool = spool.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
            // A file that cannot be removed costs nothing but its room.
            let _ = spool.remove();
        }
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
