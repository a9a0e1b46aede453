"""What an inertial sensor feels on a moving body, used by simulator and filters alike.

With the spatial acceleration A = (a, alpha) against free fall and the twist V = (v, w), both about the body origin in
body axes, a sensor at p with axes R_BI reads

    specific force  f_I = R_BI^T (a + alpha x p + w x (v + w x p)),   rate  w_I = R_BI^T w                (1)

which is R_WI^T (p''_WI - g).
"""

from haltere.foundation.arrays import Array
from haltere.lie import so3


def lever_force(rate: Array, slope: Array, p: Array) -> Array:
    """(3,) what a place p feels beyond the centre, w' x p + w x (w x p), for rate w (3,) and its slope w' (3,)."""
    w = so3.hat(rate)
    return so3.hat(slope) @ p + w @ (w @ p)


def specific_force_at(A: Array, V: Array, R_BI: Array, p: Array) -> tuple[Array, Array]:
    """Specific force (3,) m/s2 and rate (3,) rad/s in sensor axes, equation (1)."""
    at_origin = A[:3] + so3.hat(V[3:]) @ V[:3]
    return R_BI.T @ (at_origin + lever_force(V[3:], A[3:], p)), R_BI.T @ V[3:]
