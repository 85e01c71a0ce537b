"""For misdeeds written in Python: the same lines as helper/probes/deeds.h. argv[1] is the number, argv[2] a directory of the host."""
import sys


def works(deed):
    try:
        return deed() is not False
    except BaseException:
        return False


def allowed(said, deed):
    """Must work, and shows that the misdeed was really tried."""
    print("+" if works(deed) else "-", said, flush=True)


def forbidden(said, deed):
    print("!" if works(deed) else ".", said, flush=True)


def finish():
    print("end", sys.argv[1], flush=True)
