//! The telnet layer (RFC 854): what the server says first and what clients' bytes mean.

/// Interpret as command.
pub const IAC: u8 = 255;
/// Start of subnegotiation.
pub const SB: u8 = 250;
/// End of subnegotiation.
pub const SE: u8 = 240;
/// "I will".
pub const WILL: u8 = 251;
/// "Please do".
pub const DO: u8 = 253;
/// Our private option: commands with status, JSON and completion. Not assigned by IANA.
pub const FRAMES: u8 = 203;

const INTERRUPT: u8 = 244;
const BREAK: u8 = 243;
const TERMINAL_TYPE: u8 = 24;
const WINDOW_SIZE: u8 = 31;

/// WONT and DONT linemode, WILL and DO suppress-go-ahead, WILL echo, DONT echo, then the questions
/// for terminal type and window size.
pub const GREETING: [u8; 30] = [
    255, 252, 34, 255, 254, 34, 255, 251, 3, 255, 253, 3, 255, 251, 1, 255, 254, 1, 255, 253, 24,
    255, 250, 24, 1, 255, 240, 255, 253, 31,
];
/// The question for the window size, sent right after [`GREETING`].
pub const ASK_WINDOW: [u8; 6] = [255, 250, 31, 1, 255, 240];

/// Longest text of a command in a frame.
pub const LONGEST: usize = 1024 * 1024;
/// Longest subnegotiation that is kept.
const MAX_PARAMETERS: usize = LONGEST + 64;

/// The meaning of a client's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An ordinary byte.
    Byte(u8),
    /// Stop what is running.
    Interrupt,
    /// The terminal's name.
    Terminal(String),
    /// The window's size in characters.
    Window {
        /// Characters in a line.
        width: u16,
        /// Lines.
        height: u16,
    },
    /// The other side speaks [`super::frame`]s.
    Frames,
    /// A frame, without its escapes.
    Frame(Vec<u8>),
}

/// Turns bytes into events.
#[derive(Default)]
pub struct Decoder {
    state: State,
    parameters: Vec<u8>,
}

#[derive(Default)]
enum State {
    #[default]
    Data,
    Iac,
    /// After WILL, WONT, DO or DONT.
    Option(u8),
    Parameters,
    ParametersIac,
}

impl Decoder {
    /// Takes the next byte.
    pub fn byte(&mut self, byte: u8) -> Option<Event> {
        match (&self.state, byte) {
            (State::Data, IAC) => self.state = State::Iac,
            (State::Data, _) => return Some(Event::Byte(byte)),
            (State::Iac, SB) => {
                self.parameters.clear();
                self.state = State::Parameters;
            }
            (State::Iac, WILL..=254) => self.state = State::Option(byte),
            (State::Iac, _) => {
                self.state = State::Data;
                return match byte {
                    INTERRUPT | BREAK => Some(Event::Interrupt),
                    IAC => Some(Event::Byte(IAC)),
                    _ => None,
                };
            }
            (State::Option(verb), _) => {
                let offered = byte == FRAMES && matches!(*verb, WILL | DO);
                self.state = State::Data;
                return offered.then_some(Event::Frames);
            }
            (State::Parameters, IAC) => self.state = State::ParametersIac,
            (State::Parameters, _) => self.keep(byte),
            (State::ParametersIac, IAC) => {
                self.state = State::Parameters;
                self.keep(IAC);
            }
            (State::ParametersIac, _) => {
                self.state = State::Data;
                return self.finish();
            }
        }
        None
    }

    fn keep(&mut self, byte: u8) {
        if self.parameters.len() <= MAX_PARAMETERS {
            self.parameters.push(byte);
        }
    }

    fn finish(&mut self) -> Option<Event> {
        if self.parameters.len() > MAX_PARAMETERS {
            return None;
        }
        match *self.parameters.as_slice() {
            [TERMINAL_TYPE, 0, ref name @ ..] => {
                Some(Event::Terminal(String::from_utf8_lossy(name).into_owned()))
            }
            [WINDOW_SIZE, w1, w0, h1, h0] => Some(Event::Window {
                width: u16::from_be_bytes([w1, w0]),
                height: u16::from_be_bytes([h1, h0]),
            }),
            [FRAMES, ref frame @ ..] => Some(Event::Frame(frame.to_vec())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> Vec<Event> {
        let mut decoder = Decoder::default();
        bytes.iter().filter_map(|b| decoder.byte(*b)).collect()
    }

    #[test]
    fn answers_are_understood() {
        let bytes = b"\xff\xfa\x18\x00vppctl\xff\xf0\xff\xfa\x1f\x00\x50\x00\x18\xff\xf0a\xff\xf4";
        assert_eq!(
            decode(bytes),
            [
                Event::Terminal("vppctl".into()),
                Event::Window { width: 80, height: 24 },
                Event::Byte(b'a'),
                Event::Interrupt,
            ]
        );
    }

    #[test]
    fn refusals_and_unknown_options_mean_nothing() {
        assert_eq!(decode(b"\xff\xfe\xcb\xff\xfb\x22\xff\xfa\x63xyz\xff\xf0"), []);
        assert_eq!(decode(b"\xff\xfb\xcb"), [Event::Frames]);
    }
}
