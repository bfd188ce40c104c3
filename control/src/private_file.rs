//! Files that the router writes: for their owner only, as packets and keys may be in them, and
//! never in place of anything but an earlier file of the same kind.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Bytes of a file that tell its kind.
const BEGINNING: u64 = 64;

/// Creates a file that only its owner may read.
///
/// # Errors
/// The kernel's; `AlreadyExists` where there is anything of that name, be it a link.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Creates a file that only its owner may read, in place of an earlier one of the router's user:
/// `is_ours` tells by its first bytes. A link is not followed.
///
/// # Errors
/// The kernel's; `AlreadyExists` where there is something else of that name.
pub fn replace(path: &Path, is_ours: impl Fn(&[u8]) -> bool) -> io::Result<File> {
    match create(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        done => return done,
    }
    if !is_ours(&beginning(path)?) {
        return Err(refused("a file of another kind already exists"));
    }
    fs::remove_file(path)?;
    create(path)
}

/// First bytes of a file of this user.
fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|_| refused("something other than a regular file already exists"))?;
    let about = file.metadata()?;
    if !about.is_file() || about.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused("something that does not belong to the router already exists"));
    }
    let mut bytes = Vec::new();
    file.take(BEGINNING).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::AlreadyExists, why)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn is_ours(bytes: &[u8]) -> bool {
        bytes.starts_with(b"ours")
    }

    #[test]
    fn only_files_of_the_kind_are_replaced_and_no_links_followed() {
        let folder = std::env::temp_dir().join(format!("private-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name);
        let mode = |name: &str| fs::metadata(path(name)).unwrap().permissions().mode() & 0o777;
        drop(replace(&path("new"), is_ours).unwrap());
        assert_eq!(mode("new"), 0o600);

        fs::write(path("old"), "ours, and more").unwrap();
        drop(replace(&path("old"), is_ours).unwrap());
        assert_eq!((fs::read(path("old")).unwrap().len(), mode("old")), (0, 0o600));

        fs::write(path("other"), "root:*:").unwrap();
        fs::write(path("empty"), "").unwrap();
        fs::write(path("target"), "ours").unwrap();
        std::os::unix::fs::symlink(path("target"), path("link")).unwrap();
        std::os::unix::fs::symlink(path("nowhere"), path("loose")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        for name in ["other", "empty", "link", "loose", "folder"] {
            let refused = replace(&path(name), is_ours).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists, "{name}");
        }
        assert_eq!(fs::read(path("other")).unwrap(), b"root:*:");
        assert_eq!(fs::read(path("target")).unwrap(), b"ours");
        assert!(!path("nowhere").exists());
        assert!(create(&path("other")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
