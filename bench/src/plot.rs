//! Throughput over the size of a table, as SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
/// Room around the axes: left, top, right, bottom.
const ROOM: [f64; 4] = [60.0, 40.0, 110.0, 50.0];
/// Largest power of two on the axis.
const MOST_BITS: u32 = 24;
const COLORS: [&str; 2] = ["#c0392b", "#7f8c8d"];

/// Draws points of daemon, table size, and million packets a second; `sizes` says what is counted.
pub fn throughput(points: &[(&str, u64, f64)], sizes: &str) -> String {
    let most = points.iter().map(|p| p.2).fold(1.0, f64::max);
    let top = (most / 5.0).ceil() * 5.0;
    let [left, above, right, below] = ROOM;
    let width = WIDTH - left - right;
    let x = |size: u64| left + width * (size.max(1) as f64).log2() / f64::from(MOST_BITS);
    let y = |mpps: f64| HEIGHT - below - (HEIGHT - above - below) * mpps / top;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{left}\" y=\"24\">Million packets a second, one core, 64 bytes</text>\n"
    );
    let mut add = |line: String| writeln!(svg, "{line}").expect("writing to a string cannot fail");
    for i in 0..=5 {
        let (mpps, end) = (top * f64::from(i) / 5.0, WIDTH - right);
        let at = y(mpps);
        add(format!(
            "<path d=\"M{left} {at:.1}H{end:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{mpps:.0}</text>",
            left - 8.0,
            at + 4.0
        ));
    }
    for bits in (0..=MOST_BITS).step_by(4) {
        add(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">2^{bits}</text>",
            x(1 << bits),
            HEIGHT - below + 20.0
        ));
    }
    add(format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{sizes}</text>",
        x(1 << (MOST_BITS / 2)),
        HEIGHT - 10.0
    ));
    let mut daemons: Vec<&str> = points.iter().map(|p| p.0).collect();
    daemons.dedup();
    daemons.sort_unstable();
    daemons.dedup();
    for (daemon, color) in daemons.iter().zip(COLORS) {
        let mine: Vec<_> = points.iter().filter(|p| p.0 == *daemon).collect();
        let places: Vec<_> = mine.iter().map(|p| format!("{:.1},{:.1}", x(p.1), y(p.2))).collect();
        add(format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>",
            places.join(" ")
        ));
        for p in &mine {
            add(format!(
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{color}\"/>",
                x(p.1),
                y(p.2)
            ));
        }
        if let Some(last) = mine.last() {
            add(format!(
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{color}\">{daemon}</text>",
                x(last.1) + 8.0,
                y(last.2) + 4.0
            ));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_drawn_inside() {
        let points = [("a", 1, 30.0), ("b", 1, 10.0), ("a", 1 << 24, 17.5), ("b", 1 << 24, 5.0)];
        let svg = throughput(&points, "routes");
        assert_eq!((svg.matches("<circle").count(), svg.matches("<polyline").count()), (4, 2));
        assert!(svg.contains("cx=\"60.0\" cy=\"40.0\"") && svg.ends_with("</svg>\n"), "{svg}");
    }
}
