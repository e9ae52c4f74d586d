//! The colours of the report, recomputed: contrast on their grounds, and how far apart they are for people
//! with and without full colour vision (Machado 2009, full severity).

use pushmark_chart::tokens::{MARKS, PALETTE};

type Rgb = [f64; 3];

fn linear(hex: &str) -> Rgb {
    std::array::from_fn(|i| {
        let c = f64::from(u8::from_str_radix(&hex[1 + 2 * i..3 + 2 * i], 16).expect("a colour")) / 255.0;
        if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    })
}

fn colour(name: &str, dark: bool) -> &'static str {
    let token = PALETTE.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("no token {name}"));
    if dark { token.dark } else { token.light }
}

/// Returns the WCAG 2 contrast ratio.
fn contrast(a: &str, b: &str) -> f64 {
    let luminance = |hex| {
        let [r, g, b] = linear(hex);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

const PROTAN: [Rgb; 3] =
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]];
const DEUTAN: [Rgb; 3] =
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]];
const TRITAN: [Rgb; 3] =
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]];
const NORMAL: [Rgb; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// Returns the CIELAB of a colour for one kind of colour vision.
fn lab(hex: &str, eye: &[Rgb; 3]) -> Rgb {
    let rgb = linear(hex);
    let seen: Rgb = std::array::from_fn(|i| (0..3).map(|j| eye[i][j] * rgb[j]).sum::<f64>().clamp(0.0, 1.0));
    let [r, g, b] = seen;
    let f = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
    let x = f((0.412_456 * r + 0.357_576 * g + 0.180_437 * b) / 0.950_47);
    let y = f(0.212_673 * r + 0.715_152 * g + 0.072_175 * b);
    let z = f((0.019_334 * r + 0.119_192 * g + 0.950_304 * b) / 1.088_83);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// Returns the CIEDE2000 difference.
fn delta(a: Rgb, b: Rgb) -> f64 {
    let mean_c = (a[1].hypot(a[2]) + b[1].hypot(b[2])) / 2.0;
    let g = 0.5 * (1.0 - (mean_c.powi(7) / (mean_c.powi(7) + 25f64.powi(7))).sqrt());
    let polar = |p: Rgb| {
        let a = p[1] * (1.0 + g);
        (a.hypot(p[2]), p[2].atan2(a).to_degrees().rem_euclid(360.0))
    };
    let ((c1, h1), (c2, h2)) = (polar(a), polar(b));
    let dl = b[0] - a[0];
    let dc = c2 - c1;
    let grey = c1 * c2 == 0.0;
    let mut dh = if grey { 0.0 } else { h2 - h1 };
    if dh > 180.0 {
        dh -= 360.0;
    } else if dh < -180.0 {
        dh += 360.0;
    }
    let big_h = 2.0 * (c1 * c2).sqrt() * (dh / 2.0).to_radians().sin();
    let (l, c) = ((a[0] + b[0]) / 2.0, (c1 + c2) / 2.0);
    let h = match (h1 - h2).abs() {
        _ if grey => h1 + h2,
        d if d <= 180.0 => (h1 + h2) / 2.0,
        _ if h1 + h2 < 360.0 => (h1 + h2 + 360.0) / 2.0,
        _ => (h1 + h2 - 360.0) / 2.0,
    };
    let cos = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cos(h - 30.0) + 0.24 * cos(2.0 * h) + 0.32 * cos(3.0 * h + 6.0)
        - 0.20 * cos(4.0 * h - 63.0);
    let sl = 1.0 + 0.015 * (l - 50.0).powi(2) / (20.0 + (l - 50.0).powi(2)).sqrt();
    let sc = 1.0 + 0.045 * c;
    let sh = 1.0 + 0.015 * c * t;
    let turn = 60.0 * (-((h - 275.0) / 25.0).powi(2)).exp();
    let rt = -2.0 * (c.powi(7) / (c.powi(7) + 25f64.powi(7))).sqrt() * turn.to_radians().sin();
    let (l, c, h) = (dl / sl, dc / sc, big_h / sh);
    (l * l + c * c + h * h + rt * c * h).sqrt()
}

fn least(names: &[&str], dark: bool, eye: &[Rgb; 3]) -> f64 {
    let labs: Vec<Rgb> = names.iter().map(|n| lab(colour(n, dark), eye)).collect();
    let mut least = f64::INFINITY;
    for (i, a) in labs.iter().enumerate() {
        for b in &labs[i + 1..] {
            least = least.min(delta(*a, *b));
        }
    }
    least
}

fn near(found: f64, stated: f64) -> bool {
    (found - stated).abs() <= 0.06
}

#[test]
fn the_distance_agrees_with_its_published_example() {
    // Sharma, Wu and Dalal 2005, pairs 1 and 17.
    let pairs = [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
    ];
    for (a, b, expected) in pairs {
        assert!((delta(a, b) - expected).abs() < 1e-3, "{}", delta(a, b));
    }
}

#[test]
fn contrast_is_what_the_table_says() {
    let light = [
        ("ink", 17.6),
        ("ink2", 7.5),
        ("axis", 3.7),
        ("grid", 1.2),
        ("poll", 4.6),
        ("lp", 9.5),
        ("bay", 4.9),
        ("strm", 7.2),
        ("sse", 4.6),
        ("ws", 7.2),
        ("bayws", 12.2),
        ("late", 3.2),
        ("suspect", 5.0),
        ("invalid", 8.1),
        ("incomplete", 6.2),
    ];
    let dark = [
        ("ink", 15.0),
        ("ink2", 8.4),
        ("axis", 4.4),
        ("grid", 1.4),
        ("poll", 14.4),
        ("lp", 8.7),
        ("bay", 4.7),
        ("strm", 4.6),
        ("sse", 13.4),
        ("ws", 8.0),
        ("bayws", 4.5),
        ("late", 12.8),
        ("suspect", 11.8),
        ("invalid", 6.1),
        ("incomplete", 8.4),
    ];
    for (table, is_dark) in [(light, false), (dark, true)] {
        for (name, stated) in table {
            let found = contrast(colour(name, is_dark), colour("bg", is_dark));
            assert!(near(found, stated), "{name} dark {is_dark}: {found:.2}, the table says {stated}");
        }
    }
    for (word, tints) in [("suspect", [4.6, 9.6]), ("invalid", [7.0, 5.3]), ("incomplete", [5.4, 6.7])] {
        for (is_dark, stated) in [(false, tints[0]), (true, tints[1])] {
            let found = contrast(colour(word, is_dark), colour(&format!("{word}-tint"), is_dark));
            assert!(
                near(found, stated),
                "{word} on its tint, dark {is_dark}: {found:.2}, the table says {stated}"
            );
        }
    }
}

#[test]
fn transports_can_be_read_as_text() {
    for mark in MARKS {
        let name = mark.paint.trim_start_matches("var(--").trim_end_matches(')');
        for dark in [false, true] {
            let found = contrast(colour(name, dark), colour("bg", dark));
            assert!(found >= 4.45, "{name} dark {dark}: {found:.2}");
        }
    }
}

#[test]
fn transports_differ_for_every_eye() {
    let names = ["poll", "lp", "bay", "strm", "sse", "ws", "bayws"];
    let stated = [(false, [20.2, 13.1, 13.1, 14.1]), (true, [20.8, 15.7, 14.9, 16.8])];
    for (dark, table) in stated {
        for (eye, stated) in [NORMAL, PROTAN, DEUTAN, TRITAN].iter().zip(table) {
            let found = least(&names, dark, eye);
            assert!((found - stated).abs() < 0.3, "dark {dark}: {found:.2}, the table says {stated}");
        }
    }
}

#[test]
fn heat_is_read_by_order() {
    let names: Vec<String> = (0..8).map(|i| format!("heat{i}")).collect();
    for dark in [false, true] {
        for eye in [NORMAL, PROTAN, DEUTAN, TRITAN] {
            let labs: Vec<Rgb> = names.iter().map(|n| lab(colour(n, dark), &eye)).collect();
            for pair in labs.windows(2) {
                assert!(delta(pair[0], pair[1]) >= 4.9, "neighbours differ");
                assert_eq!(pair[1][0] > pair[0][0], dark, "lightness has one direction");
            }
        }
    }
}

#[test]
fn costs_and_fates_differ_for_every_eye() {
    for dark in [false, true] {
        for eye in [NORMAL, PROTAN, DEUTAN, TRITAN] {
            assert!(least(&["server", "generator", "softirq"], dark, &eye) >= 22.9);
            assert!(least(&["delivered", "late", "invalid", "ink2"], dark, &eye) >= 17.7);
        }
    }
}
