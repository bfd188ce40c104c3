//! IKEv2: any bytes are messages or not, and a machine that gets them stays within its bounds.

use ikev2::codec::{Content, HEADER, check};
use ikev2::crypto::keys::Hidden;
use ikev2::machine::{Act, Auth, Ends, Machine, Profile};

use crate::Target;

/// Acts that one message calls for at most.
const MOST_ACTS: usize = 16;
/// Messages after which associations that are not proved are given up.
const ROUND: u64 = 64;

/// A machine that answers, and another one's first message.
pub struct Ikev2 {
    machine: Machine,
    count: u64,
    first: Vec<u8>,
}

fn machine() -> Machine {
    let mut machine = Machine::new(crypto::fill_random);
    let auth = Auth {
        method: 2,
        data: Hidden(b"secret".to_vec()),
        is_hex: false,
        certificates: Vec::new(),
    };
    let profile = Profile { name: "p".to_owned(), auth: Some(auth), ..Profile::default() };
    machine.profiles.insert("p".to_owned(), profile);
    machine
}

fn ends() -> Ends {
    let (local, remote) = (([10, 0, 0, 1].into(), 500), ([10, 0, 0, 2].into(), 500));
    Ends { local, remote, table: 0, interface: 1, node: 0 }
}

/// Runs all pending computations of a machine; returns its datagrams.
fn sent(machine: &mut Machine) -> (Vec<Vec<u8>>, usize) {
    let (mut all, mut count) = (Vec::new(), 0);
    loop {
        let acts = machine.take_acts();
        if acts.is_empty() {
            return (all, count);
        }
        for act in acts {
            count += 1;
            match act {
                Act::Send(_, bytes) => all.push(bytes),
                Act::Compute(sa, job, _) => machine.done(0.0, sa, job.run()),
                _ => (),
            }
        }
    }
}

impl Ikev2 {
    /// A machine without associations.
    pub fn new() -> Self {
        let mut other = machine();
        let _ = other.initiate(0.0, "p", ends());
        let first = sent(&mut other).0.pop().unwrap_or_default();
        Self { machine: machine(), count: 0, first }
    }
}

impl Default for Ikev2 {
    fn default() -> Self {
        Self::new()
    }
}

impl Target for Ikev2 {
    const NAME: &'static str = "ikev2";

    fn seeds(&self) -> Vec<Vec<u8>> {
        vec![self.first.clone()]
    }

    fn take(&mut self, input: &[u8]) -> Result<(), String> {
        let _ = check(input);
        if let Some((first, rest)) = input.split_first() {
            let _ = Content::read(*first, rest);
        }
        // With a length that is right more of it is looked at.
        let mut message = input.to_vec();
        if message.len() >= HEADER {
            let len = message.len() as u32;
            message[24..28].copy_from_slice(&len.to_be_bytes());
        }
        self.count += 1;
        let now = self.count as f64;
        self.machine.receive(now, ends(), &message);
        let (answers, acts) = sent(&mut self.machine);
        if acts > MOST_ACTS {
            return Err(format!("{acts} acts for one message"));
        }
        if answers.iter().any(|answer| answer.len() > 2048) {
            return Err("an answer is longer than any should be".to_owned());
        }
        if self.count.is_multiple_of(ROUND) {
            self.machine.tick(now);
            sent(&mut self.machine);
        }
        Ok(())
    }
}
