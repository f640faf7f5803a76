"""Video: each pixel of a sequence of frames as a stream of its own, and all of them in one pass of a compiled loop.

A pixel that is like those before it is background, another is foreground: novelty detection, with
the rules of the learners `olk-n` and `norma-n`. What is evaluated is masks, not rows, so these are
no learners.
"""
