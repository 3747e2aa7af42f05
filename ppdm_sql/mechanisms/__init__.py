"""The mechanisms, a folder each: from the words of a policy to what is asked of a release.

`base.py` is the contract, `registry.py` the table of names. A folder has a module for each thing that its
mechanisms can do, which is loaded when it is first asked for:

- `declare`: the keys in a policy, the SQL types, the part of the manifest, the words in `explain`;
- `publish`: what perturbs batch after batch;
- `column`: what is public of a released column;
- `observe`: how columns take part in queries, as axes of a plan; `groups`: a strategy for groups by such a column;
- `stored_rows`: what a release's rows cannot be, were they made by the mechanism;
- `report`: its part of a page, beside what is said of all columns; `questions`: what a page asks of a column.
"""
