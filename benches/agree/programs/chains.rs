//! The Rust program: generics, closures and iterator chains, for many inlined frames under LTO.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::{mpsc, Arc, Mutex};

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Number(f64),
    Op(char),
    Open,
    Close,
}

#[derive(Debug)]
enum Fault {
    Unexpected(char, usize),
    Unbalanced(usize),
    Empty,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unexpected(c, at) => write!(f, "unexpected {c:?} at {at}"),
            Fault::Unbalanced(at) => write!(f, "unbalanced at {at}"),
            Fault::Empty => f.write_str("nothing"),
        }
    }
}

impl std::error::Error for Fault {}

fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let mut out = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some(&(at, c)) = chars.peek() {
        match c {
            '0'..='9' | '.' => {
                let mut digits = String::new();
                while let Some((_, d)) = chars.next_if(|(_, d)| d.is_ascii_digit() || *d == '.') {
                    digits.push(d);
                }
                out.push(Token::Number(digits.parse().map_err(|_| Fault::Unexpected(c, at))?));
                continue;
            }
            '+' | '-' | '*' | '/' => out.push(Token::Op(c)),
            '(' => out.push(Token::Open),
            ')' => out.push(Token::Close),
            ' ' => {}
            _ => return Err(Fault::Unexpected(c, at)),
        }
        chars.next();
    }
    Ok(out)
}

fn rank(op: char) -> u8 {
    if matches!(op, '*' | '/') { 2 } else { 1 }
}

fn postfix(tokens: &[Token]) -> Result<VecDeque<Token>, Fault> {
    let (mut out, mut stack) = (VecDeque::new(), Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Number(_) => out.push_back(token.clone()),
            Token::Op(op) => {
                while let Some(Token::Op(top)) = stack.last() {
                    if rank(*top) < rank(*op) {
                        break;
                    }
                    out.extend(stack.pop());
                }
                stack.push(token.clone());
            }
            Token::Open => stack.push(Token::Open),
            Token::Close => loop {
                match stack.pop().ok_or(Fault::Unbalanced(at))? {
                    Token::Open => break,
                    other => out.push_back(other),
                }
            },
        }
    }
    out.extend(stack.into_iter().rev());
    Ok(out)
}

fn value(text: &str) -> Result<f64, Box<dyn std::error::Error>> {
    let mut stack: Vec<f64> = Vec::new();
    for token in postfix(&tokens(text)?)? {
        let value = match token {
            Token::Number(value) => value,
            Token::Op(op) => {
                let (b, a) = (stack.pop().ok_or(Fault::Empty)?, stack.pop().ok_or(Fault::Empty)?);
                match op {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => a / b,
                }
            }
            _ => return Err(Fault::Unbalanced(0).into()),
        };
        stack.push(value);
    }
    stack.pop().ok_or_else(|| Fault::Empty.into())
}

trait Stage {
    fn apply(&self, values: Vec<f64>) -> Vec<f64>;
}

struct Map<F>(F);
struct Keep<F>(F);

impl<F: Fn(f64) -> f64> Stage for Map<F> {
    fn apply(&self, values: Vec<f64>) -> Vec<f64> {
        values.into_iter().map(&self.0).collect()
    }
}

impl<F: Fn(&f64) -> bool> Stage for Keep<F> {
    fn apply(&self, values: Vec<f64>) -> Vec<f64> {
        values.into_iter().filter(|v| (self.0)(v)).collect()
    }
}

fn statistics(values: &[f64]) -> BTreeMap<&'static str, f64> {
    let sum: f64 = values.iter().copied().sum();
    let mean = sum / values.len().max(1) as f64;
    let spread = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>().sqrt();
    let pairs = values.windows(2).zip(values.iter().skip(1)).filter(|(w, v)| w[0] < **v).count();
    [("sum", sum), ("mean", mean), ("spread", spread), ("rising", pairs as f64)].into_iter().collect()
}

fn parallel(texts: Vec<String>) -> HashMap<String, Result<f64, String>> {
    let queue = Arc::new(Mutex::new(texts));
    let (send, receive) = mpsc::channel();
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let (queue, send) = (Arc::clone(&queue), send.clone());
            std::thread::spawn(move || {
                while let Some(text) = queue.lock().ok().and_then(|mut queue| queue.pop()) {
                    let answer = value(&text).map_err(|fault| fault.to_string());
                    if send.send((text, answer)).is_err() {
                        break;
                    }
                }
            })
        })
        .collect();
    drop(send);
    let out = receive.into_iter().collect();
    for worker in workers {
        worker.join().expect("a worker ended in panic");
    }
    out
}

fn main() {
    let texts: Vec<String> = (1..60).map(|i| format!("({i} + {}) * {} / 3", i * 2, i % 7)).chain(std::env::args().skip(1)).collect();
    let answers = parallel(texts);
    let values: Vec<f64> = answers.values().filter_map(|answer| answer.as_ref().ok().copied()).collect();
    let stages: Vec<Box<dyn Stage>> = vec![Box::new(Keep(|v: &f64| v.is_finite())), Box::new(Map(|v: f64| v.sqrt() + 1.0)), Box::new(Map(f64::ln))];
    let mut values = stages.iter().fold(values, |values, stage| stage.apply(values));
    values.sort_by(f64::total_cmp);
    for (name, value) in statistics(&values) {
        println!("{name}: {value:.3}");
    }
}
