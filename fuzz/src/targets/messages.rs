//! The binary API: messages that are whole but say impossible things, and any bytes as a message.

use std::rc::Rc;

use control::api::schema::{Body, Count, Declaration, FieldInfo, Head, MessageInfo, Type};
use control::api::{Ignored, Progress, Registries, dispatch, split};
use net::Assembly;
use tokio::sync::Notify;

use crate::Target;
use crate::mutate::Random;

/// Slices of work that one message may take before it is cancelled.
const MAX_STEPS: usize = 50;
/// Messages with these words in their names leave the router: files and devices.
const OUTSIDE: [&str; 9] =
    ["tap", "af_packet", "af_xdp", "socket", "capture", "memif", "vhost", "pcap", "netmap"];
/// Set by runners with permission: in a network namespace and a folder of their own.
const MAY: &str = "FERROVIA_FUZZ_OUTSIDE";
/// Numbers that are just in, just out, or nowhere near.
const NUMBERS: [u64; 16] = [
    0,
    1,
    2,
    3,
    7,
    32,
    33,
    127,
    128,
    255,
    4095,
    65535,
    0x7fff_ffff,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
];
/// Names that exist, that do not exist, and that cannot exist.
const TEXTS: [&[u8]; 10] = [
    b"",
    b"pg0",
    b"pg1",
    b"ip4-unicast",
    b"ip4-lookup",
    b"\xff\xfe",
    b"a b",
    &[b'x'; 300],
    b"show interface pg0\nshow ip fib",
    b"set interface state pg1 up",
];

/// Whole messages; the input chooses which, and what its fields are made of.
pub struct Messages {
    parts: Assembly,
    may_leave: bool,
    client: u32,
    requests: Vec<(u16, &'static MessageInfo)>,
    count: u64,
}

impl Messages {
    /// A router with two interfaces.
    pub fn new() -> Self {
        let mut parts = super::router(1);
        super::set_up(&mut parts);
        let clients = parts.router.clients.clone();
        parts.api.finish(&clients).expect("no two messages have one name");
        let client = clients.connect("fuzz".to_owned(), Rc::new(Notify::new()));
        let may_leave = std::env::var_os(MAY).is_some();
        let is_tried =
            |info: &MessageInfo| info.head == Head::Request && (may_leave || stays(info));
        let requests = parts.api.messages().map(|(id, info, _)| (id, info));
        let requests = requests.filter(|(_, info)| is_tried(info)).collect();
        Self { parts, may_leave, client, requests, count: 0 }
    }

    /// The router.
    pub(super) fn parts(&mut self) -> &mut Assembly {
        &mut self.parts
    }

    /// Number of messages that are tried.
    pub(super) fn count(&self) -> usize {
        self.requests.len()
    }

    /// Name of the message at a place of those that are tried, and the message with
    /// values of all kinds. Those of one feature are side by side.
    pub(super) fn at(&self, place: usize, random: &mut Random) -> (&'static str, Vec<u8>) {
        let request = self.requests[place % self.requests.len()];
        (request.1.name, self.filled(request, random))
    }

    /// Throws away now and then what was configured by chance.
    fn renew(&mut self) {
        self.count += 1;
        if self.count.is_multiple_of(20_000) {
            *self = Self { count: self.count, ..Self::new() };
        }
    }

    /// A whole message with values of all kinds.
    pub(super) fn grown(&self, input: &[u8]) -> Vec<u8> {
        let seed = input.iter().fold(0_u64, |n, b| n.wrapping_mul(131).wrapping_add((*b).into()));
        let mut random = Random::new(seed);
        let request = *random.pick(&self.requests);
        self.filled(request, &mut random)
    }

    fn filled(&self, (id, info): (u16, &'static MessageInfo), random: &mut Random) -> Vec<u8> {
        let mut message = id.to_be_bytes().to_vec();
        message.extend(self.client.to_be_bytes());
        message.extend([0, 0, 0, 9]);
        fields(info.fields, random, &mut message);
        message
    }

    pub(super) fn send(&mut self, message: &[u8]) -> Result<(), String> {
        let Assembly { router, cli, api, .. } = &mut self.parts;
        let clients = router.clients.clone();
        let around = Registries { api, cli, clients: &clients };
        let info = message.first_chunk().and_then(|id| api.info(u16::from_be_bytes(*id)));
        if !self.may_leave && info.is_some_and(|info| !stays(info)) {
            return Ok(());
        }
        match dispatch(around, router, self.client, message) {
            Err(why @ Ignored::Panic(_)) => return Err(why.to_string()),
            Err(_) | Ok(None) => {}
            Ok(Some(mut job)) => {
                for _ in 0..MAX_STEPS {
                    let progress = job.step(around, router);
                    router.engine.run_inline(2);
                    if progress == Progress::Done {
                        break;
                    }
                }
                job.cancel(router);
            }
        }
        router.engine.run_inline(2);
        let answers = clients.take(self.client);
        for answer in split(&answers.bytes) {
            let id = answer.first_chunk().map(|id| u16::from_be_bytes(*id));
            let info = id.and_then(|id| api.info(id)).ok_or("an answer without a number")?;
            if answer.len() < info.full_size() {
                return Err(format!("{}: {} bytes are too few", info.name, answer.len()));
            }
        }
        Ok(())
    }
}

/// Whether what a message does stays within the router.
fn stays(info: &MessageInfo) -> bool {
    !OUTSIDE.iter().any(|word| info.name.contains(word))
}

impl Default for Messages {
    fn default() -> Self {
        Self::new()
    }
}

impl Target for Messages {
    const NAME: &'static str = "messages";

    fn seeds(&self) -> Vec<Vec<u8>> {
        (0..64_u64).map(|n| n.to_be_bytes().to_vec()).collect()
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        self.renew();
        let message = self.grown(input);
        self.send(&message).map_err(|why| format!("{why} ({message:02x?})"))
    }
}

/// Input is the bytes of a message.
#[derive(Default)]
pub struct MessageBytes(Messages);

impl Target for MessageBytes {
    const NAME: &'static str = "message_bytes";

    fn seeds(&self) -> Vec<Vec<u8>> {
        (0..64_u8).map(|n| self.0.grown(&[n])).collect()
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        self.0.renew();
        self.0.send(input)
    }
}

/// Appends the bytes of fields; what counts others is right.
fn fields(list: &[FieldInfo], random: &mut Random, out: &mut Vec<u8>) {
    let mut counts = Vec::new();
    for field in list {
        let counts_other = list.iter().any(|f| f.count == Count::Counted(field.name));
        match field.count {
            Count::One if counts_other => {
                let count = random.below(4) as u64;
                counts.push((field.name, count));
                number(&field.ty, count, out);
            }
            Count::One => one(&field.ty, random, out),
            Count::Fixed(count) => many(&field.ty, count, random, out),
            Count::Counted(by) => {
                let known = counts.iter().find(|(name, _)| *name == by);
                many(&field.ty, known.map_or(0, |(_, count)| *count as usize), random, out);
            }
            Count::Text => {
                let text: &[u8] = random.pick::<&[u8]>(&TEXTS);
                out.extend((text.len() as u32).to_be_bytes());
                out.extend(text);
            }
        }
    }
}

fn many(ty: &Type, count: usize, random: &mut Random, out: &mut Vec<u8>) {
    if let Type::String = ty {
        let start = out.len();
        out.extend(*random.pick::<&[u8]>(&TEXTS));
        out.resize(start + count, 0);
        return;
    }
    (0..count).for_each(|_| one(ty, random, out));
}

fn one(ty: &Type, random: &mut Random, out: &mut Vec<u8>) {
    match ty {
        Type::Named(declaration) => named(declaration, random, out),
        Type::F64 => {
            let number = *random.pick(&[0.0, 1.0, -1.0, 1e300, f64::NAN, f64::INFINITY]);
            out.extend(f64::to_ne_bytes(number));
        }
        // Small ones are existing numbers.
        ty if random.below(2) == 0 => number(ty, random.below(4) as u64, out),
        ty => number(ty, *random.pick(&NUMBERS), out),
    }
}

fn number(ty: &Type, value: u64, out: &mut Vec<u8>) {
    let size = match ty {
        Type::U16 | Type::I16 => 2,
        Type::U32 | Type::I32 => 4,
        Type::U64 | Type::I64 | Type::F64 => 8,
        _ => 1,
    };
    out.extend(&value.to_be_bytes()[8 - size..]);
}

fn named(declaration: &Declaration, random: &mut Random, out: &mut Vec<u8>) {
    match declaration.body {
        Body::Alias(ty, Count::Fixed(count)) => many(&ty, count, random, out),
        Body::Alias(ty, _) => one(&ty, random, out),
        Body::Numbers { base, values, .. } => {
            let known = random.pick(values).value.into();
            let value = if random.below(4) == 0 { *random.pick(&NUMBERS) } else { known };
            number(&base, value, out);
        }
        Body::Record(list) => fields(list, random, out),
        Body::Union(list) => {
            // The arms begin at the same byte and the largest says how many there are.
            let start = out.len();
            let arms: Vec<_> = list.iter().map(|arm| grown_arm(arm, random)).collect();
            let size = arms.iter().map(Vec::len).max().unwrap_or(0);
            out.extend(random.pick(&arms));
            out.resize(start + size, 0);
        }
    }
}

fn grown_arm(arm: &FieldInfo, random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    fields(std::slice::from_ref(arm), random, &mut out);
    out
}
