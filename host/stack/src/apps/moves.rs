//! Bytes and datagrams between streams and the lines of a lane.

use lanes::Broken;
use lanes::lane::{Lane, state};
use lanes::region::CHUNK;
use lanes::talk;

use super::part::Line;
use crate::data::app::Stream;

/// Seconds until a session that found no chunk is looked at again.
const AGAIN: f64 = 0.005;

/// Parts a stream from its line.
pub fn leave(line: &mut Line, stream: &mut Stream<'_>, with_reset: bool) {
    line.session = None;
    if line.state.bits & state::DATAGRAMS != 0 {
        // The session is the listener's.
        stream.set_data(u64::MAX);
    } else if with_reset {
        stream.reset();
    } else {
        stream.close();
    }
}

/// Moves what the program has written to the stream; whether the program has to look.
pub fn move_out(
    lane: &Lane,
    at: u32,
    line: &mut Line,
    stream: &mut Stream<'_>,
    scratch: &mut [u8],
) -> Result<bool, Broken> {
    let before = line.tx.taken();
    if line.is_datagrams {
        send_datagrams(lane, at, line, stream, scratch)?;
    } else {
        loop {
            let available = line.tx.available(lane, at)?;
            // One byte that is not taken has the program's wish for room noted.
            let n = available.min(stream.space().clamp(1, CHUNK));
            if n == 0 {
                break;
            }
            line.tx.copy(lane, at, 0, &mut scratch[..n])?;
            let done = stream.write(&scratch[..n]);
            line.tx.consume(lane, at, done);
            if done < n {
                break;
            }
        }
    }
    // The program says that it wants room, then looks; here it is the other way round.
    Ok(line.tx.taken() != before && lane.state(at).has(state::WANTS_ROOM))
}

fn send_datagrams(
    lane: &Lane,
    at: u32,
    line: &mut Line,
    stream: &mut Stream<'_>,
    scratch: &mut [u8],
) -> Result<(), Broken> {
    loop {
        let available = line.tx.available(lane, at)?;
        if available == 0 {
            return Ok(());
        }
        let mut head = [0; talk::DATAGRAM];
        if line.tx.copy(lane, at, 0, &mut head)? < head.len() {
            return Err(Broken);
        }
        let (len, to) = talk::datagram_of(&head);
        if len > talk::LONGEST || available < head.len() + len {
            return Err(Broken);
        }
        line.tx.copy(lane, at, head.len(), &mut scratch[..len])?;
        let to = Some(to).filter(|to| to.port() != 0);
        if !stream.send(&scratch[..len], to) && stream.space() < len {
            return Ok(());
        }
        // One that cannot be sent is lost, as others are.
        line.tx.consume(lane, at, head.len() + len);
    }
}

/// Moves what the stream has received to the program; whether the program has to look.
pub fn move_in(
    lane: &mut Lane,
    at: u32,
    line: &mut Line,
    stream: &mut Stream<'_>,
    scratch: &mut [u8],
) -> Result<bool, Broken> {
    let (before, bits) = (line.rx.written(), line.state.bits);
    line.state.bits &= !state::WANTS_ROOM;
    let need = if line.is_datagrams { talk::LONGEST + talk::DATAGRAM } else { 1 };
    while stream.readable() > 0 {
        if line.rx.space(lane, at)? < need {
            line.state.bits |= state::WANTS_ROOM;
            lane.set_state(at, line.state);
            if line.rx.space_after(lane, at)? < need {
                break;
            }
            line.state.bits &= !state::WANTS_ROOM;
        }
        let n = if line.is_datagrams {
            receive_datagram(lane, at, line, stream, scratch)?
        } else {
            let n = line.rx.write(lane, at, stream.peek())?;
            stream.consume(n);
            n
        };
        if n == 0 {
            // No chunk: those of other sessions have to become free.
            stream.wake_in(AGAIN);
            break;
        }
        line.rx.publish(lane, at);
    }
    if stream.is_finished() && stream.readable() == 0 {
        line.state.bits |= state::FINISHED;
    }
    if line.state.bits != bits {
        lane.set_state(at, line.state);
    }
    let has_finished = (line.state.bits & !bits) & state::FINISHED != 0;
    Ok(line.rx.written() != before || has_finished)
}

/// Moves one datagram; its length with its head, 0 if there was no chunk.
fn receive_datagram(
    lane: &mut Lane,
    at: u32,
    line: &mut Line,
    stream: &mut Stream<'_>,
    scratch: &mut [u8],
) -> Result<usize, Broken> {
    let Some((len, from)) = stream.receive(scratch) else { return Ok(0) };
    let len = len.min(talk::LONGEST);
    let mut done = line.rx.write(lane, at, &talk::datagram(len, from))?;
    if done == talk::DATAGRAM {
        done += line.rx.write(lane, at, &scratch[..len])?;
    }
    if done < talk::DATAGRAM + len {
        line.rx.rewind(lane);
        return Ok(0);
    }
    Ok(done)
}
