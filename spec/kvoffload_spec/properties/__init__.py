"""What is proved about the model: single steps from every state within the bounds.

A property is a function with a contract (PEP 316). It builds a state, takes a step and returns what the model says and
what counting says; CrossHair has to confirm each ``post`` line over all paths. Single steps are enough: if each keeps
a state well-formed, every history does. A function is named as what it claims; its module, as what it claims it of.

A tier is built from three reference counts, one a key: it is absent below -1, being stored at -1, idle at 0, else
pinned so many times.

* Symbolic, so any integer: the counts, the number of free blocks (so the capacity), how many victims are asked for.
* By cases, one path each: where a key lies, which keys a call names, the victims, the transfers, the queue. The solver
  cannot follow keys into sets. Keys are compared for equality only, so calls may name them from 0 upwards.
* Not covered: what takes four resident keys before a call, three victims or three outstanding transfers, and two calls
  in a row unless a claim says so.
"""
