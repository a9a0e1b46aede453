"""What an inertial sensor feels on a moving body, used by simulator and filters alike.

With the spatial acceleration A = (a, alpha) against free fall and the twist V = (v, w), both about the body origin in
body axes, a sensor at p with axes R_BI reads

    specific force  f_I = R_BI^T (a + alpha x p + w x (v + w x p)),   rate  w_I = R_BI^T w                (1)

which is R_WI^T (p''_WI - g).
"""

from haltere.foundation.arrays import Array
from haltere.lie import so3


def specific_force_at(A: Array, V: Array, R_BI: Array, p: Array) -> tuple[Array, Array]:
    """Specific force (3,) m/s2 and rate (3,) rad/s in sensor axes, equation (1)."""
    w = so3.hat(V[3:])
    return R_BI.T @ (A[:3] + so3.hat(A[3:]) @ p + w @ (V[:3] + w @ p)), R_BI.T @ V[3:]
