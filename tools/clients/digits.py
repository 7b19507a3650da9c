# SPDX-FileCopyrightText: Copyright the Tenon authors
# SPDX-License-Identifier: Apache-2.0
"""Writes small files in the format of MNIST: the strokes of a seven-segment display, shifted and noisy.

digits.py FOLDER [TRAIN [TEST]]
"""
import os
import random
import struct
import sys

# Segments that are lit: top, upper left, upper right, middle, lower left, lower right, bottom.
LIT = ("1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011")
STROKES = ((0, 0, 1, 9), (0, 0, 8, 1), (0, 8, 8, 9), (8, 0, 9, 9), (8, 0, 17, 1), (8, 8, 17, 9), (16, 0, 17, 9))


def picture(digit, noise):
    image = [[noise.randrange(40) for _ in range(28)] for _ in range(28)]
    top, left = 4 + noise.randrange(5), 6 + noise.randrange(8)
    for lit, (y0, x0, y1, x1) in zip(LIT[digit], STROKES):
        if lit == "0":
            continue
        for y in range(y0, y1 + 1):
            for x in range(x0, x1 + 1):
                image[top + y][left + x] = 200 + noise.randrange(56)
    return bytes(v for row in image for v in row)


def write(folder, stem, count, noise):
    labels = [noise.randrange(10) for _ in range(count)]
    with open(os.path.join(folder, stem + "-images-idx3-ubyte"), "wb") as f:
        f.write(struct.pack(">4i", 2051, count, 28, 28))
        for digit in labels:
            f.write(picture(digit, noise))
    with open(os.path.join(folder, stem + "-labels-idx1-ubyte"), "wb") as f:
        f.write(struct.pack(">2i", 2049, count) + bytes(labels))


def main(folder, train=640, test=128):
    os.makedirs(folder, exist_ok=True)
    noise = random.Random(1)
    write(folder, "train", int(train), noise)
    write(folder, "t10k", int(test), noise)


if __name__ == "__main__":
    main(*sys.argv[1:])
