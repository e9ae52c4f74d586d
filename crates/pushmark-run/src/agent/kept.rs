//! What agents have kept of runs whose coordinator is gone: an agent lists its spools and sends parts of them, and who
//! goes on for the lost coordinator collects them, once all of the work is over.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use pushmark_cluster::wire::PIECE_MAX;
use pushmark_cluster::{Access, Bus, is_name, spool_head, spool_named};
use pushmark_console::exit::{Ending, Exit};
use pushmark_model::cluster::{Answer, Ask, Card, KeptSpool};

use super::gone;
use super::line::{ask_one, called};
use super::machines::who;

/// Time between two looks at work that goes on.
const LOOK: Duration = Duration::from_millis(500);

/// Lists the spools in the folder of an agent. `working`: whether an arm of a claim is being measured now.
pub(super) fn list(folder: &Path, agent: &str, working: impl Fn(&str, u32) -> bool) -> Vec<KeptSpool> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let one = |entry: fs::DirEntry| {
        let file = entry.file_name().into_string().ok()?;
        let (claim, arm) = match spool_head(&entry.path()) {
            Ok(head) => (head.agent == agent).then_some((head.claim, head.arm))?,
            // Who collects it tells that it is damaged.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => spool_named(&file, agent)?,
            Err(_) => return None,
        };
        let working = working(&claim, arm);
        Some(KeptSpool { file, bytes: entry.metadata().ok()?.len(), working, claim })
    };
    let mut all: Vec<KeptSpool> = entries.filter_map(one).collect();
    all.sort_by(|a, b| a.file.cmp(&b.file));
    all
}

/// Returns a part of a spool of this agent, from a position on; empty at its end.
///
/// # Errors
/// Fails if the agent has no such spool.
pub(super) fn part(folder: &Path, agent: &str, file: &str, from: u64) -> anyhow::Result<Vec<u8>> {
    let known = list(folder, agent, |_, _| false).into_iter().any(|kept| kept.file == file);
    if !known {
        bail!("it has no spool {file:?}");
    }
    let mut open = File::open(folder.join(file))?;
    open.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    open.take(PIECE_MAX as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Copies what all agents on a bus have kept into folders below `into`, one for each claim, and waits for those that
/// still measure. Those whose coordinator is gone are free then. `wanted`: whether a claim is; `say` tells people what it waits for. Returns the folders, by claim.
///
/// # Errors
/// Fails if the bus cannot be reached, an agent fails, nothing is kept, or `into` cannot be written. The last has the
/// exit code of a wrong argument.
pub fn collect(
    access: &Access,
    into: &Path,
    wanted: &dyn Fn(&str) -> bool,
    say: &dyn Fn(&str),
) -> anyhow::Result<BTreeMap<String, PathBuf>> {
    let bus = Bus::connect(access, "pushmark runs reconcile")?;
    let cards = who(&bus)?;
    let agents: Vec<&Card> = cards.iter().filter(|card| card.beside.is_none()).collect();
    if agents.is_empty() {
        bail!("no agent waits there");
    }
    let mut folders = BTreeMap::new();
    let mut unwanted = Vec::new();
    for card in agents.iter().copied() {
        let (kept, others) = over(&bus, card, wanted, say)?;
        unwanted.extend(others);
        for (number, kept) in kept.into_iter().enumerate() {
            // What an agent says is no path.
            if !is_name(&card.name) || !is_name(&kept.claim) {
                bail!("{} names a claim {:?}", called(card), kept.claim);
            }
            let folder = into.join(&kept.claim);
            fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
            copy(&bus, card, &kept, &folder.join(format!("{}-{number}.spool", card.name)))?;
            folders.insert(kept.claim, folder);
        }
    }
    if folders.is_empty() {
        let names: Vec<&str> = agents.iter().map(|card| card.name.as_str()).collect();
        unwanted.sort();
        unwanted.dedup();
        match &unwanted[..] {
            [] => bail!("nothing is kept by {}", names.join(", ")),
            claims => bail!(
                "{} keep {}, which is made already or not asked for: another folder with -o makes it again",
                names.join(", "),
                claims.join(", ")
            ),
        }
    }
    folders.keys().for_each(|claim| gone::free(&bus, &cards, claim));
    Ok(folders)
}

/// Waits until an agent measures nothing more of what is wanted. Returns what it has kept of that, and the claims of all
/// else.
fn over(
    bus: &Bus,
    card: &Card,
    wanted: &dyn Fn(&str) -> bool,
    say: &dyn Fn(&str),
) -> anyhow::Result<(Vec<KeptSpool>, Vec<String>)> {
    let mut told = false;
    loop {
        let kept = match ask_one(bus, &card.name, &Ask::Kept).with_context(|| called(card))? {
            Answer::Kept(kept) => kept,
            other => bail!("{} answers {other:?}", called(card)),
        };
        let (kept, others): (Vec<_>, Vec<_>) = kept.into_iter().partition(|one| wanted(&one.claim));
        if kept.iter().all(|one| !one.working) {
            return Ok((kept, others.into_iter().map(|one| one.claim).collect()));
        }
        if !std::mem::replace(&mut told, true) {
            say(&format!("{} on {} still measures", called(card), card.host));
        }
        std::thread::sleep(LOOK);
    }
}

fn copy(bus: &Bus, card: &Card, kept: &KeptSpool, path: &Path) -> anyhow::Result<()> {
    let mut copy = File::create(path).map_err(|error| unwritable(path, &error))?;
    let mut from = 0;
    while from < kept.bytes {
        let ask = Ask::Part { file: kept.file.clone(), from };
        let bytes = match ask_one(bus, &card.name, &ask).with_context(|| called(card))? {
            Answer::Part(bytes) if !bytes.is_empty() => bytes,
            Answer::Refused(why) => bail!("{} refuses: {why}", called(card)),
            _ => bail!("{} has {from} of {} bytes of {}", called(card), kept.bytes, kept.file),
        };
        copy.write_all(&bytes).map_err(|error| unwritable(path, &error))?;
        from += bytes.len() as u64;
    }
    copy.sync_data().map_err(|error| unwritable(path, &error))
}

/// A folder here that takes no copies: another one must be named, whatever the bus does.
fn unwritable(path: &Path, error: &io::Error) -> anyhow::Error {
    Ending::error(Exit::Usage, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use pushmark_cluster::Spool;
    use pushmark_model::cluster::SpoolHead;

    use super::*;

    #[test]
    fn a_spool_without_a_readable_head_is_listed_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let head = |agent: &str| SpoolHead { claim: "1f-2a".into(), arm: 3, agent: agent.into(), plan: None };
        let paths = ["a", "b"].map(|agent| {
            let spool = Spool::create(folder.path(), &head(agent)).unwrap();
            spool.path().to_owned()
        });
        for path in &paths {
            let mut bytes = fs::read(path).unwrap();
            bytes[20] ^= 4;
            fs::write(path, bytes).unwrap();
        }
        let kept = list(folder.path(), "a", |claim, arm| (claim, arm) == ("1f-2a", 3));
        let [one] = &kept[..] else { panic!("{kept:?}") };
        assert_eq!((&one.claim[..], &one.file[..], one.working), ("1f-2a", "1f-2a-3-a.spool", true));
        let bytes = part(folder.path(), "a", &one.file, 0).unwrap();
        assert_eq!(bytes, fs::read(&paths[0]).unwrap());
        assert!(part(folder.path(), "a", "1f-2a-3-b.spool", 0).is_err());
    }
}
