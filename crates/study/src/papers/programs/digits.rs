//! Digits as if written by hand: a training set in the format of libsvm.

use std::fmt::Write as _;

use broadleaf_units::SplitMix64;

/// The side of a picture, in pixels, as in MNIST.
const SIDE: usize = 28;

/// The strokes of each digit: the seven segments of a display.
const SEGMENTS: [u8; 10] = [
    0b111_0111, 0b010_0100, 0b101_1101, 0b110_1101, 0b010_1110, 0b110_1011, 0b111_1011, 0b010_0101,
    0b111_1111, 0b110_1111,
];

/// The first pixel of each segment, as column and row, and whether it runs down.
const STROKES: [(usize, usize, bool); 7] = [
    (9, 5, false),
    (8, 5, true),
    (17, 5, true),
    (9, 13, false),
    (8, 14, true),
    (17, 14, true),
    (9, 22, false),
];

/// A training set of pictures of digits: strokes that shift, of changing darkness.
pub(in crate::papers) fn digits(pictures: u32) -> String {
    let mut random = SplitMix64::new(7);
    let mut text = String::new();
    for picture in 0..pictures {
        let digit = picture as usize % 10;
        let (right, down) = (random.below(7) as usize, random.below(5) as usize);
        let mut pixels = vec![0_u64; SIDE * SIDE];
        for (segment, (column, row, is_down)) in STROKES.into_iter().enumerate() {
            if SEGMENTS[digit] >> segment & 1 == 0 {
                continue;
            }
            for step in 0..9 {
                let (x, y) = if is_down {
                    (column, row + step)
                } else {
                    (column + step, row)
                };
                for wide in 0..2 {
                    let at = (y + down - 2) * SIDE + x + right + wide - 3;
                    pixels[at] = 100 + random.below(156);
                }
            }
        }
        let _ = write!(text, "{digit}");
        for (pixel, dark) in pixels.iter().enumerate().filter(|(_, dark)| **dark > 0) {
            let _ = write!(text, " {}:0.{:03}", pixel + 1, dark * 999 / 255);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_of_one_digit_share_strokes_and_differ() {
        let text = digits(40);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 40);
        assert!(lines[17].starts_with("7 "));
        assert_ne!(lines[7], lines[17]);
        // An 8 has all strokes, a 1 has two.
        assert!(lines[8].len() > 2 * lines[1].len());
        let pixels = lines.iter().flat_map(|line| line.split(' ').skip(1));
        for pixel in pixels {
            let (number, dark) = pixel.split_once(':').unwrap();
            assert!((1..=SIDE * SIDE).contains(&number.parse().unwrap()));
            assert!(dark.parse::<f64>().unwrap() <= 1.0);
        }
    }
}
