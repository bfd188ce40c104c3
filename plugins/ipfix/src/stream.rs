//! Streams of records and their way to collectors.

use control::process::Event;
use net::ip::{DATAGRAM_HEADERS, datagram, send_own};
use net::prelude::*;

use super::message::{Field, HEADER, SET, message, set, template};
use super::{Exporter, Ipfix};

/// The first number of a template.
const FIRST_TEMPLATE: u16 = 256;
/// Interval of checks for due templates and records.
const ROUND: Duration = Duration::from_secs(1);
/// Longest time that a record waits for others.
const GATHERED: Duration = Duration::from_secs(5);

/// A collector's state of a stream.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// When it got the template, in seconds.
    template_at: Option<f64>,
    /// Records sent to it.
    sequence: u32,
}

/// Records of one kind.
pub struct Stream {
    domain: u32,
    src_port: u16,
    template: u16,
    fields: Vec<Field>,
    /// Records that wait, each of the same length.
    waiting: Vec<u8>,
    /// Time of the first of them, in seconds.
    waiting_since: f64,
    /// By exporter.
    progress: HashMap<u32, Progress>,
}

impl Stream {
    /// Bytes of a record.
    fn record_len(&self) -> usize {
        self.fields.iter().map(|field| usize::from(field.len)).sum()
    }
}

/// Makes a stream of records with these fields, in an observation domain; returns its number.
pub fn add_stream(router: &mut Router, domain: u32, src_port: u16, fields: Vec<Field>) -> u32 {
    let streams = &mut router.own_mut::<Ipfix>().streams;
    let number = (0..).find(|number| !streams.contains_key(number)).unwrap_or_default();
    let template = FIRST_TEMPLATE + (number % u32::from(u16::MAX - FIRST_TEMPLATE)) as u16;
    let (waiting, progress) = (Vec::new(), HashMap::new());
    let waiting_since = 0.0;
    let new = Stream { domain, src_port, template, fields, waiting, waiting_since, progress };
    streams.insert(number, new);
    number
}

/// Ends a stream; what waits is sent.
pub fn remove_stream(router: &mut Router, number: u32) {
    send_records(router, number);
    router.own_mut::<Ipfix>().streams.remove(&number);
}

/// Hands a record of a stream over: its fields one behind the other. One of another length is not
/// taken. While there is no collector, as many wait as fit in a message.
pub fn export(router: &mut Router, number: u32, record: &[u8]) {
    let ipfix = router.own_mut::<Ipfix>();
    let is_collector = |e: &Exporter| !e.collector.is_unspecified();
    let has_collector = ipfix.exporters.values().any(|(e, _)| is_collector(e));
    let meant = ipfix.exporters.values().filter(|(e, _)| !has_collector || is_collector(e));
    let Some(mtu) = meant.map(|(e, _)| e.path_mtu as usize).min() else { return };
    let Some(stream) = ipfix.streams.get_mut(&number) else { return };
    if record.is_empty() || record.len() != stream.record_len() {
        return;
    }
    let room = mtu.saturating_sub(DATAGRAM_HEADERS + HEADER + SET);
    // The path may have become narrower since.
    if !stream.waiting.is_empty() && stream.waiting.len() + record.len() > room {
        if !has_collector {
            return;
        }
        send_waiting(router, number, false);
    }
    let now = router.now();
    let Some(stream) = router.own_mut::<Ipfix>().streams.get_mut(&number) else { return };
    if stream.waiting.is_empty() {
        stream.waiting_since = now;
    }
    stream.waiting.extend_from_slice(record);
    // Nothing is waited for that would not fit.
    if stream.waiting.len() + record.len() > room {
        send_waiting(router, number, false);
    }
}

/// Sends what waits, and templates whose time has come, also of streams without records so far.
pub fn flush(router: &mut Router) {
    let numbers: Vec<u32> = router.own::<Ipfix>().streams.keys().copied().collect();
    numbers.into_iter().for_each(|number| send_waiting(router, number, true));
}

/// Sends the records of a stream that wait.
pub fn send_records(router: &mut Router, number: u32) {
    send_waiting(router, number, false);
}

/// Sends the records that would have waited too long at the next look.
fn send_due_records(router: &mut Router) {
    let before = router.now() - (GATHERED - ROUND).as_secs_f64();
    let streams = router.own::<Ipfix>().streams.iter();
    let due = streams.filter(|(_, of)| !of.waiting.is_empty() && of.waiting_since <= before);
    let numbers: Vec<u32> = due.map(|(number, _)| *number).collect();
    numbers.into_iter().for_each(|number| send_records(router, number));
}

/// Forgets what the collector of an exporter knows.
pub(super) fn forget(router: &mut Router, exporter: u32) {
    for stream in router.own_mut::<Ipfix>().streams.values_mut() {
        stream.progress.remove(&exporter);
    }
}

/// Sends templates whose time has come to collectors that had them before.
fn send_due_templates(router: &mut Router) {
    let numbers: Vec<u32> = router.own::<Ipfix>().streams.keys().copied().collect();
    numbers.into_iter().for_each(|number| send(router, number, &[], false));
}

/// By itself a stream begins with its first record.
fn send_waiting(router: &mut Router, number: u32, is_asked: bool) {
    let ipfix = router.own_mut::<Ipfix>();
    if ipfix.exporters.values().all(|(e, _)| e.collector.is_unspecified()) {
        return;
    }
    let Some(stream) = ipfix.streams.get_mut(&number) else { return };
    let records = std::mem::take(&mut stream.waiting);
    send(router, number, &records, is_asked);
}

/// Sends records, and the template first where it is due.
fn send(router: &mut Router, number: u32, records: &[u8], is_asked: bool) {
    let now = router.now();
    let time = control::wall::now().as_secs() as u32;
    let ipfix = router.own_mut::<Ipfix>();
    let Some(stream) = ipfix.streams.get_mut(&number) else { return };
    let count = (records.len() / stream.record_len().max(1)) as u32;
    let mut packets: Vec<(TableIndex, Vec<u8>)> = Vec::new();
    for (key, (exporter, table)) in &ipfix.exporters {
        if exporter.collector.is_unspecified() {
            continue;
        }
        let known = stream.progress.entry(*key).or_default();
        let mut push = |sets: &[u8], known: &Progress, exporter: &Exporter| {
            let message = message(time, known.sequence, stream.domain, sets);
            let from = (exporter.src, stream.src_port);
            let to = (exporter.collector, exporter.port);
            let packet = datagram(from, to, &message, exporter.udp_checksum);
            packets.extend(packet.map(|packet| (*table, packet)));
        };
        let interval = f64::from(exporter.template_interval);
        if count == 0 && known.template_at.is_none() && !is_asked {
            continue;
        }
        if known.template_at.is_none_or(|at| now - at >= interval) {
            push(&template(stream.template, &stream.fields), known, exporter);
            known.template_at = Some(now);
        }
        if count > 0 {
            push(&set(stream.template, records), known, exporter);
            known.sequence = known.sequence.wrapping_add(count);
        }
    }
    packets.into_iter().for_each(|(table, packet)| send_own(router, table, packet));
}

/// Starts the process that sends what waits.
pub(super) fn spawn(router: &mut Router) {
    let body = |router: &mut Router, _: Event| {
        // Templates come before what follows them.
        send_due_templates(router);
        send_due_records(router);
        Wake::After(ROUND)
    };
    router.processes.spawn("flow-report-process", Box::new(body));
}
