//! Network namespaces of the host (namespaces(7)).

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Folder of the namespaces that `ip netns` names.
const NAMED: &str = "/var/run/netns";

/// The file of a namespace: named as by `ip netns`, a path, or the one of process `pid:<number>`.
fn file_of(name: &str) -> PathBuf {
    if let Some(pid) = name.strip_prefix("pid:") {
        return format!("/proc/{pid}/ns/net").into();
    }
    if name.starts_with('/') { PathBuf::from(name) } else { Path::new(NAMED).join(name) }
}

/// Lets `work` in a network namespace, or in the one that the router runs in if `None`.
///
/// # Errors
/// There is no such namespace, entering it is not permitted, or what `work` says.
pub fn within<T: Send>(
    name: Option<&str>,
    work: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    let Some(name) = name else { return work() };
    let namespace = File::open(file_of(name))?;
    std::thread::scope(|scope| {
        // A namespace is entered by a thread, for good: by one of its own.
        let thread = std::thread::Builder::new().spawn_scoped(scope, move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
            work()
        })?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the work failed")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_have_three_kinds_of_names() {
        assert_eq!(file_of("red"), Path::new("/var/run/netns/red"));
        assert_eq!(file_of("/proc/self/ns/net"), Path::new("/proc/self/ns/net"));
        assert_eq!(file_of("pid:12"), Path::new("/proc/12/ns/net"));
        assert_eq!(within(Some("no such"), || Ok(1)).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(within(None, || Ok(1)).unwrap(), 1);
    }
}
