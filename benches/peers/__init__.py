"""Side-by-side runs of the planners that a user would otherwise pick.

Every peer gets the same problems, and its costs are compared before anything is timed. ``run.py``
measures and writes JSON, ``report.py`` turns that and criterion's results into ``RESULTS.md``.
"""
