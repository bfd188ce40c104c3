//! Programs of the classic Berkeley packet filter: an accumulator, an index register, 16 words of
//! memory (bpf(4), "The BSD Packet Filter", McCanne and Jacobson, 1993).
#![forbid(unsafe_code)]

/// Words of memory.
const WORDS: usize = 16;

// Classes, sizes, modes and operations of an instruction's code.
const LD: u16 = 0;
const LDX: u16 = 1;
const ST: u16 = 2;
const STX: u16 = 3;
const ALU: u16 = 4;
const JMP: u16 = 5;
const RET: u16 = 6;
const MISC: u16 = 7;
/// The other operand is the index register, not the constant.
const X: u16 = 0x08;
/// A return gives the accumulator.
const A: u16 = 0x10;

/// An instruction, as libpcap and the kernel have it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Operation.
    pub code: u16,
    /// Instructions that a jump skips when its condition holds.
    pub jt: u8,
    /// Instructions that it skips otherwise.
    pub jf: u8,
    /// Its constant.
    pub k: u32,
}

/// A program that has been checked: it ends, and stays inside of itself and its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(Box<[Instruction]>);

impl Program {
    /// Checks a program; `None` if it may not be run.
    pub fn new(instructions: Vec<Instruction>) -> Option<Self> {
        let last = instructions.last()?;
        let is_sound = |(at, i): (usize, &Instruction)| {
            let left = instructions.len() - 1 - at;
            match i.code & 7 {
                LD | LDX => match i.code & 0xe0 {
                    0x00 | 0x80 => true,
                    0x60 => (i.k as usize) < WORDS,
                    0x20 | 0x40 => i.code & 0x18 != 0x18 && i.code & 7 == LD,
                    0xa0 => i.code & 7 == LDX,
                    _ => false,
                },
                ST | STX => (i.k as usize) < WORDS,
                ALU => {
                    let divides = matches!(i.code & 0xf0, 0x30 | 0x90);
                    i.code & 0xf0 <= 0xa0 && !(divides && i.code & X == 0 && i.k == 0)
                }
                JMP if i.code & 0xf0 == 0 => (i.k as usize) < left,
                JMP => i.code & 0xf0 <= 0x40 && usize::from(i.jt.max(i.jf)) < left,
                RET => i.code & X == 0,
                _ => true,
            }
        };
        let is_sound = last.code & 7 == RET && instructions.iter().enumerate().all(is_sound);
        is_sound.then(|| Self(instructions.into()))
    }

    /// Its instructions.
    pub fn instructions(&self) -> &[Instruction] {
        &self.0
    }

    /// Whether it accepts a packet. Reading behind the packet's end refuses it, as does dividing
    /// by zero.
    pub fn accepts(&self, packet: &[u8]) -> bool {
        self.run(packet).is_some_and(|accepted| accepted > 0)
    }

    /// Bytes of the packet that it accepts.
    fn run(&self, packet: &[u8]) -> Option<u32> {
        let (mut a, mut x, mut memory) = (0u32, 0u32, [0u32; WORDS]);
        let mut at = 0;
        while let Some(i) = self.0.get(at) {
            at += 1;
            let operand = if i.code & X == 0 { i.k } else { x };
            match i.code & 7 {
                LD => a = load(i, x, packet, &memory)?,
                LDX => x = load(i, x, packet, &memory)?,
                ST => memory[i.k as usize] = a,
                STX => memory[i.k as usize] = x,
                ALU => a = compute(i.code & 0xf0, a, operand)?,
                JMP if i.code & 0xf0 == 0 => at += i.k as usize,
                JMP => {
                    let holds = match i.code & 0xf0 {
                        0x10 => a == operand,
                        0x20 => a > operand,
                        0x30 => a >= operand,
                        _ => a & operand != 0,
                    };
                    at += usize::from(if holds { i.jt } else { i.jf });
                }
                RET => return Some(if i.code & 0x18 == A { a } else { i.k }),
                MISC if i.code & 0x80 == 0 => x = a,
                _ => a = x,
            }
        }
        None
    }
}

fn load(i: &Instruction, x: u32, packet: &[u8], memory: &[u32; WORDS]) -> Option<u32> {
    let at = match i.code & 0xe0 {
        0x00 => return Some(i.k),
        0x20 | 0xa0 => i.k as usize,
        0x40 => (x as usize).checked_add(i.k as usize)?,
        0x60 => return Some(memory[i.k as usize]),
        _ => return Some(packet.len() as u32),
    };
    let bytes = packet.get(at..)?;
    if i.code & 0xe0 == 0xa0 {
        return bytes.first().map(|first| u32::from(first & 15) * 4);
    }
    match i.code & 0x18 {
        0x00 => bytes.first_chunk().map(|word| u32::from_be_bytes(*word)),
        0x08 => bytes.first_chunk().map(|half| u32::from(u16::from_be_bytes(*half))),
        _ => bytes.first().map(|byte| u32::from(*byte)),
    }
}

fn compute(operation: u16, a: u32, operand: u32) -> Option<u32> {
    Some(match operation {
        0x00 => a.wrapping_add(operand),
        0x10 => a.wrapping_sub(operand),
        0x20 => a.wrapping_mul(operand),
        0x30 => a.checked_div(operand)?,
        0x40 => a | operand,
        0x50 => a & operand,
        0x60 => a.checked_shl(operand).unwrap_or(0),
        0x70 => a.checked_shr(operand).unwrap_or(0),
        0x80 => a.wrapping_neg(),
        0x90 => a.checked_rem(operand)?,
        _ => a ^ operand,
    })
}
