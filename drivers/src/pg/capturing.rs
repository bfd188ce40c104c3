//! Starting and ending captures of what interfaces send.

use std::path::PathBuf;
use std::sync::Arc;

use control::api::Retval;
use control::cli::Error;
use control::process::Timer;
use net::interface::Interface;
use net::{InterfaceIndex, Router};

use super::capture::Capture;
use super::interface::Mode;
use super::stream::Generator;
use super::tx;
use crate::pcap;

/// Seconds between two looks at a capture.
const PATIENCE: f64 = 1.0;

/// A capture, and when it is looked at again.
pub struct Capturing {
    /// The file.
    pub capture: Arc<Capture>,
    watch: Timer,
}

impl Generator {
    /// Captures what an interface sends, at most `count` packets; the file must not exist.
    ///
    /// # Errors
    /// The system's.
    pub fn capture(
        &mut self,
        router: &mut Router,
        interface: &Interface,
        path: PathBuf,
        count: Option<u64>,
    ) -> Result<(), Error> {
        let mode = self.own.get(&interface.index).map(|o| o.mode).unwrap_or_default();
        let link = if mode == Mode::Ethernet { pcap::ETHERNET } else { pcap::RAW };
        let shown = path.display().to_string();
        let capture = Capture::arm(path, link, count, router.engine.clock())
            .map_err(|e| Error::new(format!("create `{shown}': {}", control::cli::io_text(&e))))?;
        let capture = Arc::new(capture);
        let watch = router.after(PATIENCE, look_at_capture, interface.index.0.into());
        let new = Capturing { capture: Arc::clone(&capture), watch };
        if let Some(old) = self.captures.insert(interface.index, new) {
            router.cancel(old.watch);
        }
        self.hand_out(router, interface, Some(capture))
    }
    /// Ends a capture, if there is one.
    ///
    /// # Errors
    /// A thread does not answer, packets could not be written. It has ended nevertheless.
    pub fn end_capture(&mut self, r: &mut Router, interface: &Interface) -> Result<(), Error> {
        let Some(ended) = self.captures.remove(&interface.index) else { return Ok(()) };
        r.cancel(ended.watch);
        self.hand_out(r, interface, None)?;
        let failed = |why| Error::new(why).with_code(Retval::SYSCALL_ERROR_1.0);
        ended.capture.failure().map_or(Ok(()), |why| Err(failed(why)))
    }
    /// Makes the threads use a capture, or none.
    pub(super) fn hand_out(
        &self,
        router: &mut Router,
        interface: &Interface,
        capture: Option<Arc<Capture>>,
    ) -> Result<(), Error> {
        for thread in router.engine.data_threads() {
            let capture = capture.clone();
            let change = |n: &mut tx::PgTx| std::mem::replace(&mut n.capture, capture);
            let old = router.engine.with_node(thread, interface.tx, change);
            old.map_err(|e| Error::new(e.to_string()))?;
        }
        Ok(())
    }
}

/// Says once in the log when what an interface sends can no longer be written.
fn look_at_capture(router: &mut Router, key: u64) {
    let index = InterfaceIndex(key as u32);
    let watch = router.after(PATIENCE, look_at_capture, key);
    let all = router.state_mut::<Generator>().map(|generator| &mut generator.captures);
    let found = all.and_then(|captures| captures.get_mut(&index));
    let failure = found.map(|of| {
        of.watch = watch;
        of.capture.failure()
    });
    match failure {
        Some(None) => (),
        Some(Some(why)) => {
            router.cancel(watch);
            let name = router.interfaces.name(index.0).to_owned();
            router.log.class("pg", "capture").error(format_args!("{name}: {why}"));
        }
        None => _ = router.cancel(watch),
    }
}
