# Functions without arguments; what each gives stands in results.txt, as Python itself computed it.
from typing import Dict, List, NamedTuple, Optional, Tuple, Union
import math
import enum
from enum import Enum

class Color(Enum):
  RED = 1
  GREEN = 2

class Point(NamedTuple):
  x: int
  y: float = 2.5
  name: str = "p"

class Counter:
  def __init__(self, start: int):
    self.value = start
    self.seen: List[int] = []
  def add(self, n: int) -> "Counter":
    self.value += n
    self.seen.append(n)
    return self
  def __len__(self) -> int:
    return len(self.seen)
  def __getitem__(self, i: int) -> int:
    return self.seen[i]
  def __contains__(self, n: int) -> bool:
    return n in self.seen
  def __add__(self, other: "Counter") -> "Counter":
    return Counter(self.value + other.value)
  @property
  def double(self) -> int:
    return self.value * 2
  @staticmethod
  def twice(n: int) -> int:
    return n * 2

class Log:
  def __init__(self):
    self.lines: List[str] = []
  def __enter__(self) -> "Log":
    self.lines.append("enter")
    return self
  def __exit__(self, a: Optional[int], b: Optional[int], c: Optional[int]) -> None:
    self.lines.append("exit")

def arithmetic():
  n = 17
  f = 2.75
  return (n // 4, n % 5, -n // 4, -n % 5, n / 3, f ** 2, n ** 2, n & 6, n | 8, n ^ 3, n << 2, n >> 1, -2 ** 2,
          7.5 // 2.0, -7.5 % 2.0, divmod(17, 5), abs(-3), abs(-2.5), round(2.6), int(f), float(n), bool(n), 0x1f, 1e3)

def compares():
  a = 3
  return (1 < a < 5, 1 < a < 2, a == 3 and a != 4, a > 3 or a <= 3, not a == 3, a in [1, 2, 3], a not in [3], "b" in "abc",
          (a if a > 5 else -a))

def strings():
  s = "Hello, World"
  return (s.upper(), s.lower(), s[0], s[-1], s[1:5], s[::2], len(s), s.find("World"), s.replace("l", "L"), s.split(", "),
          ", ".join(["a", "b"]), s.startswith("Hell"), s.endswith("x"), "{}-{}".format(1, "z"), "%d %s" % (3, "q"),
          f"{len(s)} and {s}", "ab" * 2, "a" + "b", " x ".strip(), s.count("l"), 'tab\tquote"', "abc" < "abd", str(12), int("42"), float("1.5"))

def percents():
  return "%c%c" % (72, "i"), "%E and %e" % (1250, 0.5), "100%% of %s" % "it", "%i %F" % (7, 2.5)

def lists():
  l = [3, 1, 2]
  l.append(5)
  l.insert(0, 9)
  last = l.pop()
  l.extend([7, 8])
  l += [4]
  l[0] = 6
  l[1] += 10
  m = sorted(l)
  l.reverse()
  n = l[1:3]
  del l[0]
  l.remove(2)
  return l, m, n, last, len(l), l.index(8), l.count(7), max(m), min(m), sum(m), [1, 2] == [1, 2], l[-1], m[::-1], l.copy() * 2

def dicts():
  d = {"a": 1, "b": 2}
  d["c"] = d["a"] + d["b"]
  d["a"] += 10
  e: Dict[int, str] = {}
  for i in range(3):
    e[i] = str(i)
  total = 0
  for k, v in d.items():
    total += v + len(k)
  for k2 in d:
    total += 1
  del d["b"]
  p = d.pop("c")
  d.update({"z": 26})
  return d, e, total, p, list(d.keys()), list(d.values()), d.get("q", -1), "a" in d, len(d), {i: i * i for i in range(3)}

def comprehensions():
  l = [i * i for i in range(10) if i % 2 == 0]
  m = [a + b for a, b in zip([1, 2, 3], [10, 20, 30])]
  n = [(i, c) for i, c in enumerate("xyz")]
  return l, m, n, [[j for j in range(i)] for i in range(3)], [x for x in (1, 2, 3)]

def loops(limit: int = 10):
  total = 0
  for i in range(limit):
    if i == 2:
      continue
    if i > 6:
      break
    for j in range(i):
      if j == 3:
        break
      total += i * j
    total += 1
  n = 0
  while True:
    n += 1
    if n % 2 == 1:
      continue
    if n > 8:
      break
  while n > 3:
    n -= 2
  return total, n

def find(l: List[int], x: int) -> int:
  for i, v in enumerate(l):
    if v == x:
      return i
  return -1

def search(l: List[List[int]], x: int) -> Tuple[int, int]:
  for i in range(len(l)):
    for j in range(len(l[i])):
      if l[i][j] == x:
        return i, j
      if l[i][j] < 0:
        break
    else_value = i
    if else_value > 5:
      return -2, -2
  return -1, -1

def returns():
  return find([4, 5, 6], 6), find([], 1), search([[1, 2], [-1, 7], [7, 3]], 7), search([[1]], 2), grade(95), grade(85), grade(10)

def grade(n: int) -> str:
  if n > 90:
    return "a"
  elif n > 80:
    if n > 85:
      return "b+"
  else:
    n = 0
  if n == 0:
    return "f"
  return "b"

def optional(x: Optional[int], y: Optional[List[int]] = None) -> int:
  if x is None:
    x = 5
  if y is not None and len(y) > 0:
    x += y[0]
  z = y
  if z is None:
    z = [1]
  assert z is not None, "never"
  return x + len(z)

def optionals():
  return optional(None), optional(2), optional(1, [10, 20]), optional(x=3, y=[])

def union(x: Union[int, str, List[int]]) -> int:
  if isinstance(x, int):
    return x + 1
  elif isinstance(x, str):
    return len(x)
  return x[0]

def unions():
  return union(3), union("four"), union([7])

def tuples():
  t = (1, 2.5, "x")
  a, b, c = t
  (p, q), r = (1, 2), 3
  first, *rest = (1, 2, 3)
  x, y = [4, 5]
  x, y = y, x
  s = 0
  for v in (1, 2, 3):
    s += v
  return t, a, b, c, p + q + r, first, len(rest), rest[1], x, y, s, t[1], t[-1], t[:2], len(t), (1,) + (2,) if False else (9,)

def named_tuples():
  p = Point(1)
  q = Point(2, name="q", y=0.5)
  x, y, name = q
  return p.x + p.y, q.name, x, y, name, p[0]

def classes():
  c = Counter(1)
  c.add(2).add(3)
  d = c + Counter(10)
  return c.value, len(c), c[1], 3 in c, d.value, c.double, Counter.twice(4)

def enums():
  c = Color.RED
  return c == Color.RED, c == Color.GREEN, c != Color.GREEN, c.name, c.value

def contexts():
  log = Log()
  with log as l:
    l.lines.append("in")
  for i in range(3):
    with log:
      if i == 1:
        break
  return log.lines

def maths():
  return math.sqrt(16.0), math.floor(2.7), math.ceil(2.1), math.pi, math.exp(0.0), math.log(1.0), math.pow(2.0, 3.0)

def shadowing():
  total = 0
  i = 100
  squares = [i for i in range(3)]
  total += i
  if total > 5:
    kind = "big"
  else:
    kind = "small"
  return total, squares, kind

def maybe(n: int) -> int:
  r = 0
  for i in range(n):
    if i == 3:
      if n > 5:
        return 100
      r += 10
    elif i == 4:
      continue
    r += i
  return r

def flags():
  return maybe(2), maybe(4), maybe(5), maybe(7)

def early(a: int, b: int):
  x = a
  if a > b:
    x = b
    if a > 10:
      return x * 100
    x += 1
  x += 1000
  return x

def earlies():
  return early(1, 2), early(3, 2), early(30, 2)

def ternaries():
  return [("even" if i % 2 == 0 else "odd") for i in range(3)], (1 if True else 2), [a or b for a, b in [(True, False), (False, False)]]

def nested():
  d: Dict[str, List[int]] = {"a": [1], "b": []}
  d["b"].append(4)
  d["a"][0] += 5
  m: List[List[int]] = [[0, 0], [0, 0]]
  m[1][0] = 3
  return d, m, [len(v) for v in d.values()]
