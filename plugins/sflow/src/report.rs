//! Samples and reports of the nodes go to the host, and every few seconds states and counters of
//! interfaces: the process `sflow-process-samples`.

use control::process::Event;
use net::prelude::*;

use super::channel::Channel;
use super::message::{self, Counters, Group, Header};
use super::node::{Count, Discard, Received, Sample, Start};
use super::{settings, watched};

const PROCESS: &str = "sflow-process-samples";
/// Seconds after which a missing channel is tried again.
const PATIENCE: f64 = 5.0;

/// A channel, if it exists.
#[derive(Debug, Default)]
pub struct ChannelState {
    channel: Option<Channel>,
    /// Reason why there is none.
    pub problem: Option<String>,
    /// Time of the next try.
    retry: f64,
    sequence: u32,
    /// Messages sent.
    pub sent: u64,
    /// Messages that could not be sent.
    pub failed: u64,
}

/// The channels.
#[derive(Debug, Default)]
pub struct Reporter {
    /// Of samples.
    pub samples: ChannelState,
    /// Of dropped packets.
    pub drops: ChannelState,
    /// Of counters.
    pub counters: ChannelState,
    /// Records sent and not sent since the counters of the nodes were raised.
    pending: [[u64; 2]; 3],
}

impl ChannelState {
    /// Sends what `message` makes of the number of the family and its own.
    fn send(
        &mut self,
        now: f64,
        open: impl FnOnce() -> io::Result<Channel>,
        message: impl FnOnce(u16, u32) -> Vec<u8>,
    ) -> bool {
        if self.channel.is_none() && now >= self.retry {
            self.retry = now + PATIENCE;
            match open() {
                Ok(channel) => self.channel = Some(channel),
                Err(e) => self.problem = Some(e.to_string()),
            }
        }
        let is_sent = self.channel.as_ref().is_some_and(|channel| {
            self.sequence = self.sequence.wrapping_add(1);
            match channel.send(&message(channel.family, self.sequence)) {
                Ok(()) => {
                    self.problem = None;
                    true
                }
                Err(e) => {
                    self.problem = Some(e.to_string());
                    false
                }
            }
        });
        let count = if is_sent { &mut self.sent } else { &mut self.failed };
        *count += 1;
        is_sent
    }
}

/// The number of the interface whose device a packet used.
fn device(router: &Router, interface: u32) -> Option<u32> {
    router.interfaces.at(InterfaceIndex(interface)).map(|i| i.sup.0)
}

fn header(start: &Start) -> Header<'_> {
    Header { bytes: start.bytes(), len: start.len }
}

fn report_sample(router: &mut Router, sample: &Sample) {
    let (now, start) = (router.now(), &sample.start);
    let rx = device(router, start.rx).unwrap_or(0);
    let tx = device(router, start.tx).filter(|_| sample.is_sent);
    let group = if sample.is_sent { Group::Sent } else { Group::Received };
    let reporter = router.own_mut::<Reporter>();
    let open = || Channel::generic("psample", "packets");
    let is_sent = reporter.samples.send(now, open, |family, sequence| {
        message::sampled(family, sequence, group, (rx, tx), sample.rate, header(start))
    });
    reporter.pending[usize::from(sample.is_sent)][usize::from(!is_sent)] += 1;
}

fn report_drop(router: &mut Router, discard: &Discard) {
    let (now, start) = (router.now(), &discard.start);
    let rx = device(router, start.rx).unwrap_or(0);
    let text = router.engine.counter_text(discard.error);
    let (node, reason) = text.map_or(("", ""), |(node, text)| (node, text.name));
    let (node, reason) = (node.to_owned(), reason.to_owned());
    let bytes = start.bytes();
    let protocol = match (discard.is_framed, bytes) {
        (true, [_, _, _, _, _, _, _, _, _, _, _, _, a, b, ..]) => u16::from_be_bytes([*a, *b]),
        (false, [first, ..]) if first >> 4 == 6 => 0x86dd,
        _ => 0x0800,
    };
    let reporter = router.own_mut::<Reporter>();
    let open = || Channel::generic("NET_DM", "events");
    let is_sent = reporter.drops.send(now, open, |family, sequence| {
        message::dropped(family, sequence, rx, (&node, &reason), protocol, header(start))
    });
    reporter.pending[2][usize::from(!is_sent)] += 1;
}

/// Raises the counters of the nodes.
fn count(router: &mut Router) {
    let pending = std::mem::take(&mut router.own_mut::<Reporter>().pending);
    let [[received, not_received], [sent, not_sent], [dropped, not_dropped]] = pending;
    let engine = &mut router.engine;
    engine.count_at::<Received>(Count::Sent, received + sent);
    engine.count_at::<Received>(Count::NotSent, not_received + not_sent);
    engine.count_at::<Received>(Count::DiscardSent, dropped);
    engine.count_at::<Received>(Count::DiscardNotSent, not_dropped);
}

/// Tells how interfaces are.
fn report_counters(router: &mut Router) {
    let (now, interfaces) = (router.now(), watched(router).collect::<Vec<_>>());
    if interfaces.is_empty() {
        return;
    }
    let lost = router.own::<Reporter>();
    let lost = lost.samples.failed + lost.drops.failed + lost.counters.failed;
    let mut messages: Vec<Box<dyn Fn(u32) -> Vec<u8>>> = Vec::new();
    messages.push(Box::new(move |sequence| message::status(sequence, now as u32, lost as u32)));
    for index in interfaces {
        let Some(found) = router.interfaces.at(index).cloned() else { continue };
        let v = router.interfaces.values(index);
        let device = router.host_devices.iter().find_map(|device_of| device_of(router, index));
        messages.push(Box::new(move |sequence| {
            let counters = Counters {
                name: &found.name,
                index: index.0,
                speed: u64::from(found.link_speed) * 1000,
                is_up: [found.link_up, found.admin_up],
                bytes: [v.rx.bytes, v.tx.bytes],
                packets: [v.rx.packets, v.tx.packets],
                broadcasts: [v.rx_broadcast.packets, v.tx_broadcast.packets],
                multicasts: [v.rx_multicast.packets, v.tx_multicast.packets],
                discards: [v.drops + v.rx_no_buf + v.rx_miss, 0],
                errors: [v.rx_error, v.tx_error],
                mac: found.mac.0,
                device: device.filter(|device| *device > 0),
            };
            message::counters(sequence, &counters)
        }));
    }
    let way = &mut router.own_mut::<Reporter>().counters;
    for make in messages {
        way.send(now, Channel::user, |_, sequence| make(sequence));
    }
}

/// Restarts the interval between two reports.
pub(super) fn repoll(router: &mut Router) {
    router.processes.signal(PROCESS, 0);
}

pub(super) fn register(router: &mut Router) {
    router.events.handle(|router, sample: Sample| report_sample(router, &sample));
    router.events.handle(|router, discard: Discard| report_drop(router, &discard));
    router.events.afterwards(count);
    let body = |router: &mut Router, event: Event| {
        if event == Event::Timeout {
            report_counters(router);
        }
        match settings(router).polling {
            0 => Wake::OnEvent,
            seconds => Wake::AfterOrEvent(Duration::from_secs(seconds.into())),
        }
    };
    router.processes.spawn(PROCESS, Box::new(body));
}
