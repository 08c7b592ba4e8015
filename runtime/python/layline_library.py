"""Where the Python modules find the shared libraries they are over.

A library is looked for in an environment variable, beside the modules, where
both are installed (the modules are in LIB/layline/python), and where the system
keeps libraries.
"""

import ctypes
import os


def load_library(name, version, variable):
    """The library `name` ("liblayline_kv.so"), by the system under its
    `version` ("1"). Raises ImportError that names the variable."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.join(here, name), os.path.join(here, "../..", name)]
    path = os.environ.get(variable) or next(
        (place for place in places if os.path.exists(place)), f"{name}.{version}")
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"cannot load '{path}' ({error}); set {variable} to "
                          f"{name}") from error
