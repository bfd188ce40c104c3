//! Copying of data and datagrams between streams and the lines of a lane.

use lanes::Broken;
use lanes::lane::{Lane, state};
use lanes::region::CHUNK;
use lanes::talk;

use super::part::Line;
use crate::data::app::{Offered, Stream};

/// Bytes of a session that are moved at a time, each way.
const AT_ONCE: usize = 64 << 10;
/// Bytes charged for a datagram besides its own, so that at most 64 are moved at a time.
const DATAGRAM: usize = 1 << 10;
/// Seconds until a session retries when no chunk is free.
const AGAIN: f64 = 0.005;

/// Separates a stream from its line.
pub fn leave(line: &mut Line, stream: &mut Stream<'_>, with_reset: bool) {
    line.session = None;
    if stream.is_listening() {
        // The session belongs to the listener.
        stream.set_data(u64::MAX);
    } else if with_reset {
        stream.reset();
    } else {
        stream.close();
    }
}

/// Moves what the program has written to the stream, and takes it from the budget; whether the
/// program has to look. What is left when that is used up, or there was much of it, is for the next
/// turn.
pub fn move_out(
    lane: &Lane,
    at: u32,
    line: &mut Line,
    stream: &mut Stream<'_>,
    (scratch, budget): (&mut [u8], &mut usize),
) -> Result<bool, Broken> {
    let before = line.tx.taken();
    // Read once: a program that writes as fast as it is read would occupy the thread forever.
    let available = line.tx.available(lane, at)?;
    let most = AT_ONCE.min(*budget);
    let (used, is_more) = if line.is_datagrams {
        send_datagrams(lane, at, line, stream, (scratch, available, most))?
    } else {
        let mut left = available.min(most);
        while left > 0 {
            // Offering at least one byte registers for on_writable even without space.
            let n = left.min(stream.space().clamp(1, CHUNK));
            line.tx.copy(lane, at, 0, &mut scratch[..n])?;
            let done = stream.write(&scratch[..n]);
            line.tx.consume(lane, at, done);
            left -= done;
            if done < n {
                break;
            }
        }
        (available.min(most) - left, left == 0 && available > most)
    };
    *budget = budget.saturating_sub(used);
    if is_more {
        stream.wake();
    }
    // The program announces that it waits for space and then checks; here the order is reversed.
    Ok(line.tx.taken() != before && lane.state(at).has(state::WANTS_ROOM))
}

/// Sends datagrams; the bytes that they cost, and whether there are more for which there is room.
fn send_datagrams(
    lane: &Lane,
    at: u32,
    line: &mut Line,
    stream: &mut Stream<'_>,
    (scratch, mut available, most): (&mut [u8], usize, usize),
) -> Result<(usize, bool), Broken> {
    let mut used = 0;
    while available > 0 {
        if used >= most {
            return Ok((used, true));
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
        if stream.offer(&scratch[..len], to) == Offered::NoRoom {
            return Ok((used, false));
        }
        // A datagram that can never be sent is dropped.
        line.tx.consume(lane, at, head.len() + len);
        available -= head.len() + len;
        used += DATAGRAM + len;
    }
    Ok((used, false))
}

/// Moves what the stream has received to the program, and takes it from the budget; whether the
/// program has to look.
pub fn move_in(
    lane: &mut Lane,
    at: u32,
    line: &mut Line,
    stream: &mut Stream<'_>,
    (scratch, budget): (&mut [u8], &mut usize),
) -> Result<bool, Broken> {
    let (before, bits) = (line.rx.written(), line.state.bits);
    let (most, mut moved) = (AT_ONCE.min(*budget), 0);
    line.state.bits &= !state::WANTS_ROOM;
    let need = if line.is_datagrams { talk::LONGEST + talk::DATAGRAM } else { 1 };
    while stream.readable() > 0 {
        if moved >= most {
            stream.wake();
            break;
        }
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
            // No chunk is free until other sessions free theirs.
            stream.wake_in(AGAIN);
            break;
        }
        line.rx.publish(lane, at);
        moved += n + if line.is_datagrams { DATAGRAM } else { 0 };
    }
    *budget = budget.saturating_sub(moved);
    if stream.is_finished() && stream.readable() == 0 {
        line.state.bits |= state::FINISHED;
    }
    if line.state.bits != bits {
        lane.set_state(at, line.state);
    }
    let has_finished = (line.state.bits & !bits) & state::FINISHED != 0;
    Ok(line.rx.written() != before || has_finished)
}

/// Copies one datagram; returns its length with the header, 0 if no chunk was free.
fn receive_datagram(
    lane: &mut Lane,
    at: u32,
    line: &mut Line,
    stream: &mut Stream<'_>,
    scratch: &mut [u8],
) -> Result<usize, Broken> {
    let Some((len, from)) = stream.peek_datagram(scratch) else { return Ok(0) };
    let len = len.min(talk::LONGEST);
    let mut done = line.rx.write(lane, at, &talk::datagram(len, from))?;
    if done == talk::DATAGRAM {
        done += line.rx.write(lane, at, &scratch[..len])?;
    }
    if done < talk::DATAGRAM + len {
        line.rx.rewind(lane);
        return Ok(0);
    }
    stream.receive(&mut []);
    Ok(done)
}
