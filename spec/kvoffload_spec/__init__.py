"""The executable specification: what an offloading manager and its policy may do, as pure functions on frozen values.

It imports the standard library only. ``tier`` says what a manager may do, ``transfer`` which transfers are outstanding,
``policy`` what any eviction policy may do, ``order`` which victims a policy that declares an order must choose, and
``properties`` what is proved about them.
"""
