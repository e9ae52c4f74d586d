//! The memory and CPU limits of this process's control group and its parents, such as a container's.

use std::fs;
use std::path::{Path, PathBuf};

/// The tightest limits; absent if there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Limits {
    /// Memory still free under the tightest limit, bytes.
    pub(super) memory_left_bytes: Option<u64>,
    /// CPUs under the tightest quota.
    pub(super) cpus: Option<f64>,
}

/// Reads the limits. An unreadable limit counts as no limit.
pub(super) fn limits() -> Limits {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    limits_in(Path::new("/sys/fs/cgroup"), &own)
}

fn limits_in(root: &Path, own: &str) -> Limits {
    let mut limits = Limits::default();
    for line in own.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let base = if controllers.is_empty() { root.to_path_buf() } else { root.join(controllers) };
        for folder in upward(&base, path) {
            limits.narrow(&folder);
        }
    }
    limits
}

/// Returns a group's folder and its parents, up to the mount.
fn upward(base: &Path, path: &str) -> Vec<PathBuf> {
    let mut folders = vec![base.to_path_buf()];
    let mut folder = base.to_path_buf();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != "..") {
        folder.push(part);
        folders.push(folder.clone());
    }
    folders
}

impl Limits {
    fn narrow(&mut self, folder: &Path) {
        let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
        let number = |name: &str| text(name)?.trim().parse::<i64>().ok();
        // Version 2 names, then version 1.
        let memory = number("memory.max").or_else(|| number("memory.limit_in_bytes"));
        let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"));
        // Version 1 writes "none" as a number near the largest.
        if let (Some(limit @ 1..0x7000_0000_0000_0000), Some(used)) = (memory, used) {
            let left = (limit - used).max(0) as u64;
            self.memory_left_bytes = Some(self.memory_left_bytes.map_or(left, |now| now.min(left)));
        }
        let quota = text("cpu.max").and_then(|text| {
            let (quota, period) = text.trim().split_once(' ')?;
            Some((quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?))
        });
        let quota =
            quota.or_else(|| Some((number("cpu.cfs_quota_us")? as f64, number("cpu.cfs_period_us")? as f64)));
        if let Some((quota, period)) = quota.filter(|&(quota, period)| quota > 0.0 && period > 0.0) {
            let cpus = quota / period;
            self.cpus = Some(self.cpus.map_or(cpus, |now| now.min(cpus)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_limit_of_a_group_and_those_above_binds() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("a/b");
        fs::create_dir_all(&group).unwrap();
        let write = |name: &str, text: &str| fs::write(root.path().join(name), text).unwrap();
        write("a/memory.max", "1000\n");
        write("a/memory.current", "400\n");
        write("a/b/memory.max", "max\n");
        write("a/b/memory.current", "1\n");
        write("a/cpu.max", "max 100000\n");
        write("a/b/cpu.max", "150000 100000\n");
        let limits = limits_in(root.path(), "0::/a/b\n");
        assert_eq!(limits, Limits { memory_left_bytes: Some(600), cpus: Some(1.5) });
    }

    #[test]
    fn version_1_is_read_too() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("memory/x")).unwrap();
        fs::create_dir_all(root.path().join("cpu,cpuacct")).unwrap();
        let write = |name: &str, text: &str| fs::write(root.path().join(name), text).unwrap();
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/memory.usage_in_bytes", "5\n");
        write("memory/x/memory.limit_in_bytes", "500\n");
        write("memory/x/memory.usage_in_bytes", "600\n");
        write("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
        write("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
        let limits = limits_in(root.path(), "4:memory:/x\n2:cpu,cpuacct:/\n");
        assert_eq!(limits, Limits { memory_left_bytes: Some(0), cpus: None });
    }
}
