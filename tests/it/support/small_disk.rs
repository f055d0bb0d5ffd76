//! A small file system that a test can fill.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A file system in memory; gone with the test, however that ends.
pub struct SmallDisk {
    pub path: PathBuf,
}

impl SmallDisk {
    pub fn mount(at: PathBuf, mib: u64) -> Self {
        fs::create_dir(&at).unwrap();
        let options = format!("size={mib}m,mode=0700,uid=$(id -u)");
        let mounted = as_root(&format!("mount -t tmpfs -o {options} tmpfs"), &at);
        let words = String::from_utf8_lossy(&mounted.stderr);
        assert!(mounted.status.success(), "mounting a tmpfs takes root or sudo: {words}");
        Self { path: at }
    }

    /// Takes all that is free, but for so many MiB.
    pub fn fill_up_to(&self, name: &str, left_mib: u64) -> PathBuf {
        let path = self.path.join(name);
        let mut file = File::create(&path).unwrap();
        let block = vec![0; 1 << 20];
        loop {
            match file.write_all(&block) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => panic!("{error}"),
            }
        }
        let taken = file.metadata().unwrap().len();
        file.set_len(taken.saturating_sub(left_mib << 20)).unwrap();
        path
    }

    pub fn holds(&self, name: &str) -> bool {
        self.path.join(name).exists()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, for the daemon may still have files open there.
        let _ = as_root("umount -l", &self.path);
    }
}

fn as_root(command: &str, path: &Path) -> Output {
    let script = format!("sudo=; [ \"$(id -u)\" = 0 ] || sudo='sudo -n'; $sudo {command} \"$0\"");
    Command::new("sh").arg("-c").arg(script).arg(path).output().unwrap()
}
