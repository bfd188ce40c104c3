//! Starting and ending the original's captures.

use net::Router;

use crate::capture::{
    CaptureRequest, Captures, Chooser, Ended, Error, Kind, Limits, NewCapture, Places, Sink,
    Written, place,
};
use crate::host::background::Background;
use crate::pcap;

/// Name of the capture of received, sent or dropped packets.
pub const TRACE: &str = "pcap-trace";
/// Name of the capture of what nodes are given.
pub const DISPATCH: &str = "pcap-dispatch";

/// Wishes beside the packets.
pub struct Asked {
    /// Only what the filter of captures chooses: nothing while there is none.
    pub filter: bool,
    /// Maximum packets.
    pub most: u64,
    /// Name of the file; one that says what is captured if `None`.
    pub file: Option<String>,
}

/// Starts capturing received, sent or dropped packets.
///
/// # Errors
/// See [`Error`]; nothing is captured then.
pub fn start(
    all: &mut Captures,
    router: &mut Router,
    mut wanted: CaptureRequest,
    asked: Asked,
) -> Result<(), Error> {
    if all.get(TRACE).is_some() {
        return Err(Error::Running);
    }
    let what = wanted.what();
    if what.is_empty() {
        return Err(Error::Nothing);
    }
    wanted.most_bytes = wanted.most_bytes.min(pcap::SNAP_LENGTH);
    let chooser = match (asked.filter, router.capture_filter()) {
        (false, _) => Chooser::All,
        (true, Some(filter)) => Chooser::Function(filter),
        (true, None) => Chooser::Nothing,
    };
    let usual = format!("{}.pcap", what.concat());
    let new =
        new(Kind::Trace, what.join(" "), asked.most, asked.file.as_deref().unwrap_or(&usual))?;
    let places = Places::new(router, wanted, chooser, true)?;
    all.start(router, TRACE, places, new)
}

/// Starts capturing what nodes are given.
///
/// # Errors
/// See [`Error`]; nothing is captured then.
pub fn start_dispatch(
    all: &mut Captures,
    router: &mut Router,
    most: u64,
    file: Option<&str>,
) -> Result<(), Error> {
    if all.get(DISPATCH).is_some() {
        return Err(Error::Running);
    }
    let file = file.unwrap_or("dispatch.pcap");
    all.start_dispatch(router, DISPATCH, new(Kind::Dispatch, "dispatch".to_owned(), most, file)?)
}

fn new(kind: Kind, what: String, most: u64, file: &str) -> Result<NewCapture, Error> {
    let path = place(file)?;
    let to = path.display().to_string();
    let limits = Limits { packets: Some(most), ..Limits::default() };
    Ok(NewCapture { what, kind, sink: (Sink::Late(path), to), limits })
}

/// Ends one of these captures.
///
/// # Errors
/// [`Error::NotRunning`], a thread that does not answer.
pub fn stop(
    all: &mut Captures,
    router: &mut Router,
    name: &str,
) -> Result<(Ended, Background<Written>), Error> {
    all.stop(router, name).map_err(|e| match e {
        Error::NoCapture(_) => Error::NotRunning,
        e => e,
    })
}
