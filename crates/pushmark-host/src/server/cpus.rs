//! The CPUs of the server and of the generator: disjoint halves, cores kept whole.

use std::collections::BTreeMap;
use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// CPUs this thread may run on, ascending.
pub fn allowed_cpus() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect())
}

/// Pins the calling thread, and everything that it starts from now on, to some CPUs.
pub fn pin_current_thread(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no CPU {cpu}")));
        }
        set.set(cpu as usize);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// `(server's, generator's)` CPUs: disjoint if there are two or more, by whole cores if there are two or more
/// cores. The generator gets the odd one: if it starves, no measurement is valid.
pub fn halves_of_cpus() -> io::Result<(Vec<u32>, Vec<u32>)> {
    let core_of = |cpu: u32| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        std::fs::read_to_string(path).unwrap_or_else(|_| cpu.to_string())
    };
    Ok(halves(&allowed_cpus()?, core_of))
}

fn halves(cpus: &[u32], core_of: impl Fn(u32) -> String) -> (Vec<u32>, Vec<u32>) {
    let mut cores: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut first_of: BTreeMap<String, u32> = BTreeMap::new();
    for &cpu in cpus {
        let first = *first_of.entry(core_of(cpu)).or_insert(cpu);
        cores.entry(first).or_default().push(cpu);
    }
    let groups: Vec<Vec<u32>> = match cores.len() {
        // One core of two threads: they share it, but each has its own run queue.
        0 | 1 => cpus.iter().map(|&cpu| vec![cpu]).collect(),
        _ => cores.into_values().collect(),
    };
    if groups.len() < 2 {
        return (cpus.to_vec(), cpus.to_vec());
    }
    let (server, generator) = groups.split_at(groups.len() / 2);
    let flat = |groups: &[Vec<u32>]| {
        let mut cpus = groups.concat();
        cpus.sort_unstable();
        cpus
    };
    (flat(server), flat(generator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_disjoint_and_cores_stay_whole() {
        let own = |cpu: u32| cpu.to_string();
        assert_eq!(halves(&[0, 1], own), (vec![0], vec![1]));
        assert_eq!(halves(&[2, 5, 7], own), (vec![2], vec![5, 7]));
        assert_eq!(halves(&[3], own), (vec![3], vec![3]));
        // Threads of a core as most PCs number them: n and n + 4.
        let paired = |cpu: u32| (cpu % 4).to_string();
        assert_eq!(halves(&[0, 1, 2, 3, 4, 5, 6, 7], paired), (vec![0, 1, 4, 5], vec![2, 3, 6, 7]));
        let one_core = |_: u32| "0-1".to_string();
        assert_eq!(halves(&[0, 1], one_core), (vec![0], vec![1]));
    }

    #[test]
    fn a_pinned_thread_stays_where_it_is_put() {
        std::thread::spawn(|| {
            let cpus = allowed_cpus().unwrap();
            let last = *cpus.last().unwrap();
            pin_current_thread(&[last]).unwrap();
            assert_eq!(allowed_cpus().unwrap(), [last]);
        })
        .join()
        .unwrap();
        assert!(pin_current_thread(&[u32::MAX]).is_err());
    }
}
